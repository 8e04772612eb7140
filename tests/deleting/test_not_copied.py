"""A move leaves what it failed to copy, also where an equal one is at the destination, and all names of such a file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting import not_copied
from fanout.deleting.not_copied import NotCopied
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.support.flow import World
from tests.support.memory_store import MemoryStore
from tests.support.mounts import world_of
from tests.support.moves import MOVE, held, reasons
from tests.support.two_mounts import TwoMounts

NAMES = {"a": b"one file", "d/b": b"one file"}
DENIED = ItemError(Reason.DESTINATION_DENIED, "link at the destination: EACCES")


def filled(source: Path, destination: Path, *there: str) -> None:
    """A file with two names, another one, and what stands at the destination of them, equal to the source."""
    (source / "d").mkdir(parents=True)
    (source / "a").write_bytes(b"one file")
    os.link(source / "a", source / "d/b")
    (source / "other").write_bytes(b"other")
    for path in there:
        destination.mkdir(exist_ok=True, parents=True)
        (destination / path).write_bytes((source / path).read_bytes())
        seen = (source / path).stat()
        os.utime(destination / path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def refuse(*_: Any, **__: Any) -> None:
    raise DENIED


def resumed(world: World, mount: Path, change: Json | None = None) -> Json:
    following = world_of(mount, "run-2")
    following.store, following.changes = world.store, world.changes
    return following.run({**MOVE, "resume_from": "run-1", **(change or {})})


def test_the_names_of_a_file_stay_together_where_one_was_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "in", tmp_path / "out")
    world = world_of(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(PosixTree, "link", refuse)
        assert world.run(MOVE)["status"] == "FAILED_WITH_ITEMS"
    assert held(tmp_path / "in") == NAMES
    assert reasons(world) == {"d/b": Reason.DESTINATION_DENIED.value}
    assert held(tmp_path / "out") == {"a": b"one file", "other": b"other"}
    assert resumed(world, tmp_path)["status"] == "SUCCEEDED"
    assert held(tmp_path / "in") == {}
    assert (tmp_path / "out/a").samefile(tmp_path / "out/d/b")


def test_so_they_do_between_two_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = TwoMounts(tmp_path)
    filled(ends.source_root, ends.root)
    with monkeypatch.context() as patch:
        patch.setattr(PosixTree, "link", refuse)
        assert ends.run({"mode": "move"})["status"] == "FAILED_WITH_ITEMS"
    assert held(ends.source_root) == NAMES
    assert ends.next_run("run-2").run({"mode": "move", "resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert held(ends.source_root) == {}
    assert (ends.root / "a").samefile(ends.root / "d/b")


@pytest.mark.parametrize("path", ["other", "a"])
def test_what_failed_stays_where_an_equal_one_stood_before(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "in", tmp_path / "out", path)
    world = world_of(tmp_path)
    create = PosixTree.create

    def full(self: PosixTree, entry: Entry, *more: Any) -> Any:
        if entry.path == path:
            raise ItemError(Reason.NO_SPACE, os.strerror(errno.ENOSPC))
        return create(self, entry, *more)

    with monkeypatch.context() as patch:
        patch.setattr(PosixTree, "create", full)
        patch.setattr(PosixTree, "small_files_from", lambda *_: None)
        assert world.run({**MOVE, "compare": "always"})["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world)[path] == Reason.NO_SPACE.value
    assert set(held(tmp_path / "in")) == ({"other"} if path == "other" else set(NAMES))
    assert resumed(world, tmp_path)["status"] == "SUCCEEDED"
    assert held(tmp_path / "in") == {}
    assert held(tmp_path / "out") == NAMES | {"other": b"other"}
    assert (tmp_path / "out/a").samefile(tmp_path / "out/d/b")


def test_where_more_failed_than_can_be_told_apart_nothing_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(not_copied, "MOST_NOT_COPIED", 2)
    found = NotCopied()
    for number in range(3):
        assert found.problem == ""
        found.add(Outcome.because(Entry(f"f{number}", Kind.FILE, 1), Reason.NO_SPACE, ""), "copy")
    assert found.problem == "over 2 entries were not copied"
    assert len(found.paths) == 2


def test_without_a_failure_no_shard_is_read() -> None:
    found = NotCopied()
    found.find_files(Ledger(MemoryStore(), "run-1"))
    assert not found.files
