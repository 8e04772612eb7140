"""Two ends of each direction that hold one of each kind of entry, and runs between them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import units
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from tests.support.flow import World
from tests.support.memory import MemoryEntryCopier, MemoryTree
from tests.support.memory_files import Stored
from tests.support.memory_store import MemoryStore
from tests.support.two_mounts import TwoMounts

WITHIN = {"source": "efs:///in", "destination": "efs:///out"}
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/", "content_type": "none"}
FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "attributes": {"set_ids": True}}
INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://a-bucket/out/"}
OLD_NS = 1_234_567_890_123_456_789
FILE, DIRECTORY, LINK = "d/f", "d/", "link"


def filled(root: Path) -> Path:
    """One of each kind of entry."""
    (root / "d/empty").mkdir(parents=True)
    (root / FILE).write_bytes(b"content")
    (root / FILE).chmod(0o640)
    (root / "set-id").write_bytes(b"#!")
    (root / "set-id").chmod(0o6755)
    (root / "one").write_bytes(b"names")
    os.link(root / "one", root / "d/two")
    (root / "alone").write_bytes(b"names")
    (root / LINK).symlink_to("d/f")
    with (root / "sparse").open("wb") as sparse:
        sparse.truncate(3 * units.MIB)
    if not os.geteuid():
        for name in (FILE, LINK, "d/empty"):
            os.lchown(root / name, 4711, 4712)
    for number, name in enumerate([FILE, "set-id", "one", LINK, "sparse", "d/empty", "d"]):
        os.utime(root / name, ns=(OLD_NS, OLD_NS + number), follow_symlinks=False)
    os.utime(root / "alone", ns=(OLD_NS, (root / "one").stat().st_mtime_ns))
    return root


def in_store(tree: MemoryTree) -> None:
    """The same, as a copy to a bucket leaves it."""
    named = {"content-type": "text/plain", "x-amz-meta-project": "alpha"}
    attributes = Attributes(0o100640, 4711, 4712, OLD_NS, OLD_NS, named)
    tree.put(DIRECTORY, Kind.DIRECTORY, b"", replace(attributes, mode=0o040755, headers={}))
    tree.put(FILE, Kind.FILE, b"content", attributes)
    tree.put("set-id", Kind.FILE, b"#!", replace(attributes, mode=0o106755))
    tree.put(LINK, Kind.SYMLINK, b"d/f", replace(attributes, mode=0o120777, headers={}))


class Direction:
    """Two ends, runs between them, and a way to change the destination."""

    def __init__(self, base: Path, request: Json, options: Json | None = None) -> None:
        self.base, self.request = base, request | (options or {})
        self.root = base / "out"
        self.store: MemoryTree | None = None
        copier = None
        if request in (WITHIN, TO_S3):
            filled(base / "in")
            source: Any = PosixTree(base, "in", "run-1", "s", "source")
        else:
            source = MemoryTree()
            in_store(source)
        if request in (WITHIN, FROM_S3):
            destination: Any = PosixTree(base, "out", "run-1", "d")
        else:
            destination = self.store = MemoryTree()
        if request == INSIDE_S3:
            assert self.store is not None
            copier = MemoryEntryCopier(source, self.store)
        self.world = World(source=source, destination=destination, store=MemoryStore(), copier=copier)

    def run(self, run_id: str, options: Json) -> Json:
        self.world = self.world.next_run(run_id)
        return self.world.run(self.request | options)

    def failures(self) -> dict[str, str]:
        return {row["path"]: row["reason"] for row in self.world.ledger.read_rows("failures.jsonl")}

    def messages(self) -> dict[str, str]:
        return {row["path"]: row["message"] for row in self.world.ledger.read_rows("failures.jsonl")}

    def change(self, path: str, **changes: Any) -> None:
        """Change attributes of an object, or its bytes."""
        assert self.store is not None
        stored: Stored = self.store.contents()[path]
        data = changes.pop("data", stored.data)
        self.store.put(path, stored.entry.kind, data, replace(stored.attributes, **changes))


class Between:
    """The same between two mounts."""

    def __init__(self, base: Path, options: Json | None = None) -> None:
        self.mounts, self.options = TwoMounts(base), options or {}
        filled(self.mounts.source_root)
        self.root = self.mounts.root

    def run(self, run_id: str, options: Json) -> Json:
        self.mounts = self.mounts.next_run(run_id)
        summary: Json = self.mounts.run(self.options | options)
        return summary

    def failures(self) -> dict[str, str]:
        return self.mounts.failures()


def not_compared(summary: Json) -> dict[str, int | None]:
    """What a verification could not compare, with the number of entries."""
    return {one["what"]: one["entries"] for one in summary["verification"]["not_compared"]}
