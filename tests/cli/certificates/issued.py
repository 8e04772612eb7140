"""A certificate that was issued, for tests of what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from typer.testing import CliRunner, Result

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Kind
from fanout_cli.certificates.signature import load_key
from fanout_cli.main import app
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.signing import LocalSigner

COPY = {**REQUEST, "verify": "content", "certificate": True}


class Issued:
    """The certificate of a copy to ``tree``, in ``file``, and its public key in ``key``."""

    def __init__(self, base: Path, request: dict[str, Any] | None = None) -> None:
        self.tree, self.file, self.key = base / "tree", base / "certificate.json", base / "key.pem"
        self.tree.mkdir(parents=True)
        self.signer = LocalSigner()
        world = World(destination=PosixTree(self.tree, "", "run-1", "n"), signer=self.signer)
        assert isinstance(world.source, MemoryTree)
        for number in range(4):
            world.source.put(f"d{number % 2}/f{number}", Kind.FILE, b"%d" % number * 50)
        world.source.put("link", Kind.FILE, b"d1/f1", Attributes(mode=0o120777))
        world.source.put("d1/notes.tmp", Kind.FILE, b"tmp")
        assert world.run(COPY | (request or {}))["status"] == "SUCCEEDED"
        self.data = world.ledger.read_bytes("certificate.json")
        self.file.write_bytes(self.data)
        self.key.write_text(self.signer.pem)

    @property
    def der(self) -> bytes:
        """The key as KMS gives it."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return load_key(self.signer.pem.encode()).public_bytes(serialization.Encoding.DER, form)

    def check(self, *arguments: object) -> Result:
        """With the stack's key."""
        return fanout("check", self.file, "--key", self.key, *arguments)


def fanout(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["certificate", *map(str, arguments)], env={"COLUMNS": "200"})
