"""Files that an NFS client unlinked and holds open: their names, and that unlinking them again is refused.

Here the refusal is made up; ``tests/nfs/inside`` has a real one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.adapters.posix.publishing.retired import remove_retired
from fanout.adapters.posix.removal import remove_directory
from fanout.adapters.posix.tree import PosixTree
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from tests.support.mounts import world_of, writable
from tests.support.syncs import KEEP, SYNC, names, write

HELD = ".nfs000000000000000b00000001"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Names whose file this client holds open."""
    names_held = {HELD}
    unlink = os.unlink

    def refuse(name: str, *, dir_fd: int) -> None:
        if name in names_held:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        unlink(name, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        yield names_held


@pytest.fixture
def above(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, DIRECTORY_FLAGS)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("beside", ["a", ".nfs", ".nfsrc", f"{HELD}0", HELD.upper(), f"x{HELD}"])
def test_only_such_a_file_is_no_entry(tmp_path: Path, beside: str) -> None:
    write(tmp_path, beside, "z", f"d/{HELD}", HELD)
    found = {entry.path: entry.kind for entry in PosixTree(tmp_path, "", "run", "list", "source").list(Segment("all"))}
    expected = {beside: Kind.FILE, "z": Kind.FILE, "d/": Kind.DIRECTORY, HELD: Kind.SPECIAL, f"d/{HELD}": Kind.SPECIAL}
    assert found == expected


def test_a_copy_leaves_it_out_and_its_books_say_so(tmp_path: Path) -> None:
    write(tmp_path / "in", "file", HELD)
    (tmp_path / "out").mkdir()
    summary = world_of(tmp_path).run({**SYNC, "mode": "copy"})
    assert names(tmp_path / "out") == {"file"}
    assert (summary["status"], summary["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 1)


def test_a_sync_leaves_it_at_the_destination(tmp_path: Path) -> None:
    write(tmp_path / "in", *KEEP)
    write(tmp_path / "out", "extra", HELD, f"keep/{HELD}")
    summary = world_of(tmp_path).run(SYNC)
    assert summary["status"] == "SUCCEEDED"
    assert names(tmp_path / "out") == {*names(tmp_path / "in"), HELD, f"keep/{HELD}"}


def test_a_verification_does_not_miss_it_at_the_source(tmp_path: Path) -> None:
    write(tmp_path / "in", "file")
    (tmp_path / "out").mkdir()
    world_of(tmp_path).run(SYNC)
    write(tmp_path / "out", HELD)
    request = {key: value for key, value in SYNC.items() if key != "delete_guard"}
    assert world_of(tmp_path, "run-2").run({**request, "mode": "verify"})["status"] == "SUCCEEDED"


def test_a_directory_that_holds_it_says_why_it_stays(tmp_path: Path) -> None:
    write(tmp_path / "tree", f"d/{HELD}")
    tree = writable(PosixTree(tmp_path, "tree", "run", "attempt"))
    with pytest.raises(ItemError, match="still open at an NFS client") as stays:
        tree.remove_directory(Entry("d/", Kind.DIRECTORY))
    assert stays.value.reason is Reason.NOT_EMPTY


def test_the_rest_of_a_staging_directory_goes_while_it_is_held_and_all_of_it_later(
    tmp_path: Path, above: int, held: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "staging", f"a/{HELD}", "a/b/c", f"a/d/{HELD}", *(f"a/e/{number}" for number in range(3)), HELD)
    passes = []

    def closed(_seconds: float) -> None:
        passes.append([path for path in (tmp_path / "staging").rglob("*") if path.is_file()])
        held.clear()

    monkeypatch.setattr("fanout.adapters.posix.removal.time.sleep", closed)
    remove_directory(above, "staging")
    assert [sorted({path.name for path in one}) for one in passes] == [[HELD]]
    assert os.listdir(tmp_path) == []


def test_a_version_on_its_way_out_keeps_it_for_the_next_publisher(tmp_path: Path, above: int, held: set[str]) -> None:
    write(tmp_path / ".removed-v1", HELD, f"d/{HELD}", "d/e/file", f"d/e/f/{HELD}", "file")
    assert remove_retired(above, ".removed-v1", "v1", NEVER, lambda: None).done
    assert {path.name for path in (tmp_path / ".removed-v1").rglob("*") if path.is_file()} == {HELD}
    held.clear()
    assert remove_retired(above, ".removed-v1", "v1", NEVER, lambda: None).done
    assert os.listdir(tmp_path) == []
