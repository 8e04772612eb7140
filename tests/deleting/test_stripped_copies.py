"""A copy in a bucket that lost its metadata after the comparison, and kept its ETag, is not the one compared."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Kind
from fanout.model.outcome import Reason
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_files import Stored
from tests.support.moves import compared, held, reasons

MOVE = {"source": "efs:///in", "destination": "s3://a-bucket/in/", "mode": "move"}


def test_what_tells_its_attributes_at_the_source_alone_stays(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("kept", "stripped"):
        (tmp_path / "in" / name).write_text(name)
    bucket = MemoryTree()
    world = World(source=PosixTree(tmp_path, "in", "run-1", "n", "source"), destination=bucket)
    world.list_all(world.plan(MOVE))
    world.copy_all()
    world.finish_all()
    inner = compared(world)
    etag = bucket.contents()["stripped"].entry.etag
    written = bucket.put("stripped", Kind.FILE, b"stripped")  # as a copy onto itself that names no metadata
    bucket._entries["stripped"] = Stored(replace(written, etag=etag), b"stripped")
    inner.delete_all()
    summarise_transfer(None, world.context())
    assert held(tmp_path / "in") == {"stripped": b"stripped"}
    assert reasons(world) == {"stripped": Reason.DESTINATION_CHANGED.value}
