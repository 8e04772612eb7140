"""Certificates over whole runs: issued only for trees proven equal, once, whatever dies or runs twice meanwhile."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fanout.adapters.posix.tree import PosixTree
from fanout.certificate.document import Certificate, decoded
from fanout.facts.tuning import BLOCK_BYTES
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from fanout.work.context import WayOut
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.signing import KEY_ARN, LocalSigner
from tests.support.two_mounts import TwoMounts

COPY = {**REQUEST, "verify": "content", "certificate": True}
ONLY = {**REQUEST, "mode": "verify", "verify": "content", "certificate": True}
CUT = {"limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}}
BIG = 2 * BLOCK_BYTES + 5


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"), signer=LocalSigner())
    assert isinstance(world.source, MemoryTree)
    for number in range(6):
        world.source.put(f"d{number % 3}/f{number}", Kind.FILE, b"%d" % number * 50)
    world.source.put("d1/link", Kind.FILE, b"f1", Attributes(mode=0o120777))
    world.source.put("empty", Kind.FILE)
    world.source.put("big", Kind.FILE, os.urandom(BIG))
    world.source.put("e/", Kind.DIRECTORY)
    return world


def certificate(world: World) -> Certificate:
    return decoded(world.ledger.read_bytes("certificate.json"))


def digest_below(directory: Path) -> str:
    """The digest of a directory by the definition alone: nothing of the product."""
    lanes = [0] * 1024
    for path in sorted(directory.rglob("*")):
        if path.is_symlink():
            kind, data = b"symlink", os.readlink(path).encode()
        elif path.is_file():
            kind, data = b"file", path.read_bytes()
        else:
            continue
        blocks = [hashlib.sha256(data[at : at + 8 * 1024**2]) for at in range(0, len(data) or 1, 8 * 1024**2)]
        content = blocks[0] if len(blocks) == 1 else hashlib.sha256(b"".join(one.digest() for one in blocks))
        name = os.fsencode(path.relative_to(directory))
        line = b"\0".join((kind, b"%d" % len(data), content.hexdigest().encode(), name))
        state = hashlib.shake_256(line).digest(2048)
        for lane in range(1024):
            lanes[lane] = (lanes[lane] + int.from_bytes(state[2 * lane : 2 * lane + 2], "little")) % 65536
    return hashlib.sha256(b"".join(lane.to_bytes(2, "little") for lane in lanes)).hexdigest()


def is_signed(found: Certificate) -> bool:
    key = serialization.load_pem_public_key(found.document.key.public_key.encode())
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(base64.b64decode(found.signature), found.document.signed_bytes(), ec.ECDSA(hashes.SHA256()))
    return True


def test_a_certificate_holds_no_secret_of_its_request(world: World) -> None:
    """It is handed to others, who could assume the role by its external id; the field is left out, whoever checks."""
    role = {"role": "arn:aws:iam::444455556666:role/their-data", "external_id": "only-we-two-know"}
    world.roles, world.way_out = (role["role"],), WayOut.MOUNTS
    request = {**COPY, "source_bucket": role}
    assert world.run(request)["status"] == "SUCCEEDED"
    data = world.ledger.read_bytes("certificate.json")
    said = json.loads(certificate(world).document.request)
    assert is_signed(certificate(world)) and b"only-we-two-know" not in data
    assert said == {**request, "source_bucket": {"role": role["role"]}}


@pytest.mark.parametrize("more", [{}, CUT], ids=["whole", "in blocks"])
@pytest.mark.parametrize("request_", [COPY, {**COPY, "verify": "all"}, ONLY], ids=["content", "all", "mode verify"])
def test_a_run_that_proves_both_trees_equal_is_certified(
    world: World, tmp_path: Path, request_: Json, more: Json
) -> None:
    if request_ is ONLY:
        World(source=world.source, destination=world.destination, run_id="first").run()
    summary = world.run(request_ | more)
    assert summary["status"] == "SUCCEEDED"
    found = certificate(world)
    document = found.document
    assert is_signed(found)
    assert (document.run.id, document.run.mode, document.key.arn) == ("run-1", summary["mode"], KEY_ARN)
    assert (document.source.location, document.destination.location) == (REQUEST["source"], "efs://data/copy")
    assert document.source.entries == document.destination.entries == 9
    assert document.source.bytes == 300 + 2 + BIG
    assert document.source.tree_digest == document.destination.tree_digest == digest_below(tmp_path)
    assert json.loads(document.request) == request_ | more
    assert document.verification.attributes is (request_ == {**COPY, "verify": "all"})
    data = world.ledger.read_bytes("certificate.json")
    assert summary["certificate"] == {
        "key": "runs/run-1/certificate.json",
        "sha256": hashlib.sha256(data).hexdigest(),
        "signing_key": KEY_ARN,
        "source_tree_digest": document.source.tree_digest,
        "destination_tree_digest": document.destination.tree_digest,
    }
    assert document.source.tree_digest in world.ledger.read_bytes("report.html").decode()


def test_an_escaped_name_stands_in_each_tree_as_it_is_there(tmp_path: Path) -> None:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"), signer=LocalSigner())
    assert isinstance(world.source, MemoryTree)
    world.source.put("a//b", Kind.FILE, b"x")
    assert world.run({**COPY, "on_conflict": "escape"})["status"] == "SUCCEEDED"
    document = certificate(world).document
    assert document.source.tree_digest != document.destination.tree_digest == digest_below(tmp_path)


@pytest.mark.parametrize("what", ["changed", "missing", "extra"])
def test_trees_that_differ_get_no_certificate(world: World, tmp_path: Path, what: str) -> None:
    World(source=world.source, destination=world.destination, run_id="first").run()
    if what == "changed":
        (tmp_path / "d1/f1").write_bytes(b"!" * 50)
    elif what == "missing":
        (tmp_path / "d1/f1").unlink()
    else:
        (tmp_path / "d1/more").touch()
    summary = world.run(ONLY)
    assert (summary["status"], summary["certificate"]) == ("FAILED_WITH_ITEMS", None)
    assert not world.ledger.has("certificate.json")
    assert any("no certificate was issued" in note for note in summary["notes"])


@pytest.mark.parametrize("verify", ["all", "content"])
def test_symlinks_of_a_bucket_that_the_request_skips_are_in_no_tree(tmp_path: Path, verify: str) -> None:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"), signer=LocalSigner())
    assert isinstance(world.source, MemoryTree)
    world.source.put("file", Kind.FILE, b"x", Attributes(0o100644, 0, 0, 5))
    world.source.put("link", Kind.FILE, b"file", Attributes(0o120777))
    world.source.put("replaced", Kind.FILE, b"file", Attributes(0o120777))
    (tmp_path / "replaced").write_bytes(b"of another")
    summary = world.run({**COPY, "verify": verify, "symlinks": "skip"})
    assert summary["status"] == "SUCCEEDED", list(world.ledger.read_rows("failures.jsonl"))
    assert summary["totals"]["skipped"]["entries"] == 2
    assert all(one["entries"] is None for one in summary["verification"]["not_compared"])
    document = certificate(world).document
    assert (document.source.entries, document.source.bytes) == (1, 1)
    only = World(source=world.source, destination=world.destination, run_id="run-2")
    assert only.run({**REQUEST, "mode": "verify", "symlinks": "skip"})["totals"]["skipped"]["entries"] == 2
    kept = World(source=world.source, destination=world.destination, run_id="run-3")
    assert kept.run({**REQUEST, "mode": "verify"})["totals"]["failed"]["entries"] == 2


# A difference that leaves every CRC64NVME as it is: the polynomial itself, the lowest bit first.
_SAME_CRC = (0x9A6C9329AC4BC9B5 << 1 | 1).to_bytes(9, "little")


@pytest.mark.parametrize("more", [{}, CUT], ids=["whole", "in blocks"])
def test_other_bytes_of_the_same_crc_are_found_and_get_no_certificate(world: World, tmp_path: Path, more: Json) -> None:
    World(source=world.source, destination=world.destination, run_id="first").run()
    data = bytearray((tmp_path / "big").read_bytes())
    data[BLOCK_BYTES + 3 : BLOCK_BYTES + 12] = bytes(
        one ^ other for one, other in zip(data[BLOCK_BYTES + 3 :], _SAME_CRC, strict=False)
    )
    (tmp_path / "big").write_bytes(data)
    summary = world.run(ONLY | more)
    assert (summary["status"], summary["certificate"]) == ("FAILED_WITH_ITEMS", None)
    (row,) = world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("big", "checksum differs")
    assert "SHA-256" in row["message"]
    assert ("block 1 of" in row["message"]) is bool(more)


def test_a_checksum_that_a_store_keeps_is_not_taken_at_its_word(world: World) -> None:
    class Counting(MemoryTree):
        opened = 0

        def open(self, entry: Any) -> Any:
            self.opened += 1
            return super().open(entry)

    assert isinstance(world.source, MemoryTree)
    for request_, opened in (({**ONLY, "certificate": False}, 0), (ONLY, 9)):
        source, destination = Counting(), Counting()
        for path, stored in world.source.contents().items():
            for tree in (source, destination):
                tree.put(path, stored.entry.kind, stored.data, stored.attributes)
        other = World(source=source, destination=destination, run_id=f"run-{opened}", signer=world.signer)
        assert other.run(request_)["status"] == "SUCCEEDED"
        assert (source.opened, destination.opened) == (opened, opened)


def test_a_stack_without_a_key_refuses_the_request_at_its_plan() -> None:
    world = World()
    with pytest.raises(InvalidRequest, match=r"certificate: the stack has no signing key.*Certificates: true"):
        world.plan(COPY)
    assert list(world.ledger.keys("")) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"verify": "copied"},
        {"mode": "plan"},
        {"mode": "plan", "verify": "all"},
        {"verify": "all", "manifest": "s3://lists/files.csv"},
        {"mode": "verify", "manifest": "s3://lists/files.csv"},
    ],
)
def test_a_request_that_could_prove_nothing_is_refused_by_its_field(wrong: Json) -> None:
    with pytest.raises(InvalidRequest, match=r"^certificate: "):
        parse_request({**REQUEST, **wrong, "certificate": True}, ("data",), 10)
    with pytest.raises(InvalidRequest, match=r"^certificate: "):
        parse_request({**REQUEST, "mode": "verify", "certificate": "yes"}, ("data",), 10)


@pytest.mark.parametrize("more", [{}, {"limits": {"split_bytes": BLOCK_BYTES}}], ids=["whole", "in blocks"])
@pytest.mark.parametrize("request_", [{"verify": "all"}, {"mode": "verify"}], ids=["all", "mode verify"])
def test_between_two_mounts_each_side_hashes_its_own(tmp_path: Path, request_: Json, more: Json) -> None:
    mounts = TwoMounts(tmp_path)
    mounts.world.signer = LocalSigner()
    for root in (mounts.source_root, mounts.root) if "mode" in request_ else (mounts.source_root,):
        (root / "d").mkdir(parents=True)
        (root / "d/big").write_bytes(b"0123456789" * (BIG // 10))
        (root / "d/link").symlink_to("big")
        os.utime(root / "d/big", (1, 1))
        os.utime(root / "d/link", (1, 1), follow_symlinks=False)
        os.utime(root / "d", (1, 1))
    summary = mounts.run({"certificate": True} | request_ | more)
    assert (summary["status"], summary["notes"]) == ("SUCCEEDED", [])
    document = certificate(mounts.world).document
    assert document.source.tree_digest == digest_below(mounts.source_root)
    assert document.destination.tree_digest == digest_below(mounts.root)


def test_an_entry_that_was_read_without_its_digest_is_not_certified(tmp_path: Path) -> None:
    """A stack that is upgraded while it verifies: DigestShard of the earlier version wrote no SHA-256."""
    mounts = TwoMounts(tmp_path)
    mounts.world.signer = LocalSigner()
    for root in (mounts.source_root, mounts.root):
        root.mkdir(parents=True, exist_ok=True)
        (root / "f").write_bytes(b"f")
        os.utime(root / "f", (1, 1))
    what = mounts.list_all({"mode": "verify", "certificate": True})
    for shard in mounts.shards():
        source = mounts.source()
        digest_shard(shard, source)
        for key in list(source.ledger.keys("checksums/")):
            rows = [row[:5] for row in source.ledger.read_rows(key)]
            source.ledger.write_rows(key, rows)
        verify_shard(shard, mounts.destination())
    summary = mounts.end(what["verify"])
    assert (summary["status"], summary["certificate"]) == ("FAILED_WITH_ITEMS", None)
    assert mounts.failures() == {"f": "checksum differs"}
