"""What the request leaves out is skipped, whichever phase finds it."""

from __future__ import annotations

import pytest

from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTarget, MemoryTree


@pytest.mark.parametrize(
    ("more", "status", "result"),
    [({}, "FAILED_WITH_ITEMS", "rejected"), ({"on_conflict": "skip"}, "SUCCEEDED", "skipped")],
)
def test_a_name_that_only_the_destination_finds_too_long(
    monkeypatch: pytest.MonkeyPatch, more: Json, status: str, result: str
) -> None:
    world = World()
    assert isinstance(world.source, MemoryTree) and isinstance(world.destination, MemoryTree)
    world.source.put("a", Kind.FILE, b"data")
    world.source.put("name", Kind.FILE, b"data")
    create = world.destination.create

    def refusing(entry: Entry, attributes: Attributes) -> MemoryTarget:
        if entry.path == "name":
            raise ItemError(Reason.NAME_TOO_LONG, "File name too long")
        return create(entry, attributes)

    monkeypatch.setattr(world.destination, "create", refusing)
    summary = world.run({**REQUEST, **more})
    assert (summary["status"], summary["totals"][result]["entries"]) == (status, 1)
