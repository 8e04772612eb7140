"""What the request leaves out is skipped, whichever phase finds it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.staging import Staging
from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.copying.test_hard_links import fill, world_of
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemoryTarget
from tests.support.names import short_names


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


@pytest.mark.parametrize("refused", ["link", "copy"])
@pytest.mark.parametrize(("more", "result"), [({}, "rejected"), ({"on_conflict": "skip"}, "skipped")])
def test_a_further_name_that_only_the_destination_finds_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: Json, result: str, refused: str
) -> None:
    fill(tmp_path, {"data": ["a", "name"]})
    rename, link = Staging.rename, PosixTree.link

    def refusing(self: Staging, staged: int, staged_name: str, directory: int, path: str) -> None:
        if path.endswith("name"):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        rename(self, staged, staged_name, directory, path)

    def full(self: PosixTree, entry: Entry, first: str) -> None:
        if refused == "copy":
            raise ItemError(Reason.LINK_LIMIT, "no room")
        link(self, entry, first)

    monkeypatch.setattr(Staging, "rename", refusing)
    monkeypatch.setattr(PosixTree, "link", full)
    summary = world_of(tmp_path).run({"source": "efs:///in", "destination": "efs:///out", **more})
    assert (summary["balanced"], summary["totals"][result]["entries"]) == (True, 1)


@pytest.mark.parametrize("name", ["name^", "name^/below"])
def test_a_place_that_the_destination_finds_too_long_when_it_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = World(destination=PosixTree(tmp_path, "out", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    for path in ("a", name):
        world.source.put(path, Kind.FILE, b"data")
    short_names(monkeypatch, "name^5E")
    summary = world.run({"source": "s3://a-bucket/tree/", "destination": "efs:///out", "on_conflict": "escape"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert (summary["totals"]["rejected"]["entries"], summary["totals"]["copied"]["entries"]) == (1, 1)
