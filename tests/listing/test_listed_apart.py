"""A destination that another process lists: the same entries, the same errors, the same ledger, nobody left behind."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.listing.destination_process import listed_apart
from fanout.model.columns import FileColumns, Listed
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ListingIncomplete, Transient
from fanout.model.segment import Segment
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import World
from tests.support.forked import all_ended, noted_forks
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

NUMBERS = st.integers(-(2**64), 2**64)
NAMES = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=5) | st.just("\udcff")


@pytest.fixture(autouse=True)
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that a test forks; the threads of other tests do not keep it from forking."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    return noted_forks(monkeypatch)


@st.composite
def columns(draw: st.DrawFn) -> FileColumns:
    """Files with any names and numbers that fit together."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4))
    one = st.tuples(*[NUMBERS] * len(names))
    return FileColumns(draw(st.sampled_from(["", "a/", "a/ü/"])), names, draw(one), draw(one), draw(one))


@given(st.lists(columns() | st.builds(Entry, NAMES, st.sampled_from(Kind), NUMBERS), max_size=6))
def test_what_is_listed_is_handed_over_as_it_is(listed: list[Listed]) -> None:
    with listed_apart(lambda: iter(listed), forks=True) as found:
        assert list(found) == listed


@pytest.mark.parametrize("files", [0, 1, 999, 1_000, 30_000])
def test_a_tree_is_listed_as_in_this_process(tmp_path: Path, files: int, children: list[int]) -> None:
    for number in range(files):
        path = tmp_path / f"d{number // 2_500}/f{number}"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    tree = PosixTree(tmp_path, "", "run", "n")
    with listed_apart(lambda: tree.list_columns(Segment("all")), forks=True) as found:
        listed = list(found)
    assert all_ended(children)
    assert listed == list(tree.list_columns(Segment("all")))
    tree.close()


def test_an_error_comes_after_what_was_listed_before_it(children: list[int]) -> None:
    entries = [Entry(f"f{number:05d}", Kind.FILE) for number in range(2_500)]

    def listing() -> Iterator[Listed]:
        yield from entries
        raise ListingIncomplete("listing stopped below /x: EACCES")

    before: list[Listed] = []
    with (
        pytest.raises(ListingIncomplete, match="EACCES"),
        listed_apart(listing, forks=True) as found,
    ):
        before.extend(found)
    assert before == entries[: len(before)]
    assert all_ended(children)


def test_a_process_that_is_killed_is_no_end_of_the_listing(children: list[int]) -> None:
    def listing() -> Iterator[Listed]:
        yield Entry("a", Kind.FILE)
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(Transient, match="ended with -9"), listed_apart(listing, forks=True) as found:
        list(found)
    assert all_ended(children)


def test_the_process_ends_where_the_listing_is_left(children: list[int]) -> None:
    def listing() -> Iterator[Listed]:
        return (Entry(f"f{number}", Kind.FILE) for number in itertools.count())

    with listed_apart(listing, forks=True) as found:
        assert next(found) == Entry("f0", Kind.FILE)
    assert all_ended(children)


def test_nothing_forks_beside_other_threads(monkeypatch: pytest.MonkeyPatch, children: list[int]) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    with listed_apart(lambda: iter([Entry("a", Kind.FILE)]), forks=True) as found:
        assert list(found) == [Entry("a", Kind.FILE)]
    assert not children


PATHS = st.lists(st.text(alphabet="ab-/", min_size=1, max_size=5), max_size=12, unique=True)


def ledger_of(forks: bool, mode: str, old: list[str], new: list[str], extra: list[str]) -> Json:
    """What a listing leaves that finds ``old`` files copied, and ``new`` and ``extra`` ones at one end."""
    changes = itertools.count(1)
    source, destination = MemoryTree(changes), MemoryTree(changes)
    world = World(changes, source, destination, MemoryStore(), forks=forks)
    for tree, paths in ((source, [*old, *new, "k"]), (destination, [*old, *extra, "k"])):
        for path in paths:
            if not path.startswith("/") and "//" not in path:
                tree.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, b"")
    request = {"source": "efs:///tree", "destination": "efs:///copy", "mode": mode}
    world.list_all(world.plan(request | ({"delete_guard": {"max_percent": 99}} if mode == "sync" else {})))
    if mode != "sync":
        partition_shards(world.context())
    return {key: world.store.get(key) for key in world.store.list("")}


@given(PATHS, PATHS, PATHS, st.sampled_from(["copy", "sync", "plan"]), st.integers(1, 20))
def test_the_ledger_is_the_same(old: list[str], new: list[str], extra: list[str], mode: str, budget: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", budget)
        assert ledger_of(True, mode, old, new, extra) == ledger_of(False, mode, old, new, extra)
