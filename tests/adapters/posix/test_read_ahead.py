"""Reading directories ahead changes nothing that a listing gives, and stays within its bounds."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.posix.listing import listing, stats
from fanout.adapters.posix.listing.read_ahead import ListedBelow, ReadAhead
from fanout.adapters.posix.listing.stats import WaitedSeconds
from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.columns import Listed
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment

AT_ONCE = -1.0  # every reading waits longer


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories beside and in each other, empty ones, one that is large, names that are not text."""
    root = tmp_path_factory.mktemp("tree")
    for number in range(60):
        folder = root / f"d{number % 12:02d}" / ("\udcff" if number % 5 else "a") / f"e{number}"
        folder.mkdir(parents=True)
        for name in range(number % 4):
            (folder / f"f{name}").write_bytes(b"x")
    (root / "d03-").write_bytes(b"")
    (root / "large").mkdir()
    for number in range(40):
        (root / f"large/{number}").mkdir()
    return root


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that were read ahead, with threads from the first one on."""
    found: list[str] = []

    class Noted(ReadAhead):
        def take(self, directory: str) -> list[Listed] | None:
            read = super().take(directory)
            if read is not None:
                found.append(directory)
            return read

    monkeypatch.setattr(listing, "ReadAhead", Noted)
    monkeypatch.setattr(listing, "BATCH", 30)
    monkeypatch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", AT_ONCE)
    return found


def prunes(path: str) -> bool:
    return "/e7/" in path


def entries(root: Path, segment: Segment) -> list[Entry]:
    with closing(PosixTree(root, "", "run", "attempt")) as tree:  # many trees would hold too many descriptors
        return list(tree.list(segment, prunes))


def test_the_entries_are_those_of_reading_in_turn(
    root: Path, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = entries(root, Segment("s"))
    assert len(taken) > 30
    assert "large/" not in taken and "large/7/" in taken
    assert not any(path.endswith("/e7/") for path in taken)
    monkeypatch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", 3600.0)
    assert ahead == entries(root, Segment("s"))


@given(st.data())
def test_a_part_is_that_of_reading_in_turn(root: Path, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", 3600.0)
        paths = [entry.path for entry in entries(root, Segment("s"))]
        bound = st.sampled_from(["", "d03-/", "d05/a/e99", *paths])
        segment = Segment("s", after=data.draw(bound), until=data.draw(bound))
        expected = entries(root, segment)
        patch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", AT_ONCE)
        assert entries(root, segment) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every directory")
def test_a_directory_that_can_not_be_read_is_told_in_its_turn(tmp_path: Path, taken: list[str]) -> None:
    for number in range(9):
        (tmp_path / f"d{number}").mkdir()
    (tmp_path / "d7").chmod(0o400)
    found = {entry.path: entry.kind for entry in entries(tmp_path, Segment("s"))}
    assert taken and found["d7/"] is Kind.UNLISTABLE


def test_no_more_are_read_than_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", AT_ONCE)
    read: list[str] = []
    lock = threading.Lock()

    def note(directory: str) -> ListedBelow:
        with lock:
            read.append(directory)
        return [], ()

    ahead = ReadAhead(note)
    for _ in range(3):
        with ahead.in_turn():
            pass
    names = [f"{number:03d}/" for number in range(900)]
    ahead.found(names)
    for number, name in enumerate(names):
        assert ahead.take(name) == []
        with lock:
            assert len(read) <= number + 1 + tuning.DIRECTORIES_AHEAD + tuning.DIRECTORIES_HELD
    ahead.close()
    assert sorted(read) == names


@pytest.mark.parametrize(("directories", "entries_held"), [(10**6, 10**6), (8, 10**6), (10**6, 20)])
def test_what_lies_below_what_was_read_is_read_too_and_the_nearest_first(
    monkeypatch: pytest.MonkeyPatch, directories: int, entries_held: int
) -> None:
    """A listing that comes to each directory as fast as it is read never waits for one by itself."""
    monkeypatch.setattr(tuning, "DIRECTORY_SLOW_SECONDS", AT_ONCE)
    monkeypatch.setattr(tuning, "DIRECTORIES_AHEAD", 4)
    monkeypatch.setattr(tuning, "DIRECTORIES_HELD", directories)
    monkeypatch.setattr(tuning, "ENTRIES_HELD", entries_held)
    below = {f"{top:02d}/": [f"{top:02d}/{number}/" for number in range(6)] for top in range(30)}
    read: list[str] = []
    held: list[int] = []

    def note(directory: str) -> ListedBelow:
        read.append(directory)
        inside = below.get(directory, [])
        return [Entry(one, Kind.DIRECTORY, 0, 0, 0) for one in inside], inside

    ahead = ReadAhead(note)
    for _ in range(3):
        with ahead.in_turn():
            pass
    ahead.found(below)
    order = sorted([*below, *(one for some in below.values() for one in some)], key=os.fsencode)
    missed = []
    for directory in order:
        held.append(len(ahead._held))
        listed = ahead.take(directory)
        if listed is None:
            missed.append(directory)
            ahead.found(below.get(directory, ()))
        else:
            assert [entry.path for entry in listed if isinstance(entry, Entry)] == below.get(directory, [])
    ahead.close()
    assert max(held) <= directories + 4
    assert len(missed) <= len(order) / 10
    assert set(read) | set(missed) == set(order)
    if directories == entries_held:
        assert sorted(read) == sorted(order)


def test_a_thread_waits_where_it_gave_up_the_processor_and_not_where_others_took_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited = WaitedSeconds()
    time.sleep(0.001)
    assert waited.seconds > 0
    monkeypatch.setattr(stats, "_given_up", lambda: 7)  # the same before and after
    taken_by_others = WaitedSeconds()
    time.sleep(0.001)
    assert taken_by_others.seconds == 0
