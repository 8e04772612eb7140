"""The findings of an attempt at CopyShard count with its record: lost and doubled attempts change no result."""

from __future__ import annotations

import pytest

from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import Transient
from tests.support.flow import REQUEST, World
from tests.support.interrupted import Interrupted, lost, no_write, write_of
from tests.support.memory import MemoryTree


def planned() -> tuple[World, Interrupted]:
    """A run that is listed: files with metadata of another tool, and directories with attributes."""
    world = World(store=Interrupted())
    assert isinstance(world.source, MemoryTree)
    for number in range(6):
        world.source.put(
            f"d{number % 2}/f{number}", Kind.FILE, b"%d" % number, Attributes(headers={"x-amz-meta-mtime": "1"})
        )
    for name in ("d0/", "d1/", "e/"):
        world.source.put(name, Kind.DIRECTORY, b"", Attributes(0o40750, 1, 1, 5))
    world.list_all(world.plan(REQUEST))
    assert isinstance(world.store, Interrupted)
    return world, world.store


def told(world: World) -> Json:
    """The summary's words about the copy, and what is there."""
    world.finish_all()
    summary = world.end()
    assert isinstance(world.destination, MemoryTree)
    there = {path: (one.data, one.attributes.mode) for path, one in world.destination.contents().items()}
    return {name: summary[name] for name in ("status", "totals", "notes", "balanced")} | {"there": there}


@pytest.mark.parametrize("how", ["lost", "two at once"])
def test_a_copy_that_is_cut_at_any_write_leaves_the_result_as_it_is(how: str) -> None:
    plain, store = planned()
    store.arm(no_write, lost)
    plain.copy_all()
    writes, wanted = store.writes, told(plain)
    assert writes >= 5  # the attempt's begin and end, the directories, the rows, the record
    assert any(note.startswith("objects with attributes of rclone, which are not read: 6,") for note in wanted["notes"])
    for at in range(writes):
        world, store = planned()
        if how == "lost":
            store.arm(write_of(at), lost)
            with pytest.raises(Transient):
                world.copy_all()
        else:
            store.arm(write_of(at), world.copy_all)
        world.copy_all()
        assert store.before is None, "no write was interrupted"
        assert told(world) == wanted, at
