"""A destination that another process lists: the same entries, the same errors, the same ledger, nobody left behind."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
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
from fanout.work.processes.crew import Crew
from tests.support.crew import a_crew, processes_of
from tests.support.flow import World
from tests.support.long import LONG
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

NUMBERS = st.integers(-(2**64), 2**64)
NAMES = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=5) | st.just("\udcff")


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    """A crew, none of whose processes is left in the end."""
    with a_crew() as crew:
        yield crew


@st.composite
def columns(draw: st.DrawFn) -> FileColumns:
    """Files with any names and numbers that fit together."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4))
    one = st.tuples(*[NUMBERS] * len(names))
    return FileColumns(draw(st.sampled_from(["", "a/", "a/ü/"])), names, draw(one), draw(one), draw(one))


@given(st.lists(columns() | st.builds(Entry, NAMES, st.sampled_from(Kind), NUMBERS), max_size=6))
def test_what_is_listed_is_handed_over_as_it_is(crew: Crew, listed: list[Listed]) -> None:
    with listed_apart(partial(iter, listed), crew) as found:
        assert list(found) == listed


@pytest.mark.parametrize("files", [0, 1, 999, 1_000, 30_000 if LONG else 3_000])
def test_a_tree_is_listed_as_in_this_process(tmp_path: Path, files: int, crew: Crew) -> None:
    for number in range(files):
        path = tmp_path / f"d{number // 2_500}/f{number}"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    tree = PosixTree(tmp_path, "", "run", "n")
    with listed_apart(partial(tree.list_columns, Segment("all")), crew) as found:
        listed = list(found)
    assert processes_of(crew) == []
    assert listed == list(tree.list_columns(Segment("all")))
    tree.close()


MANY = [Entry(f"f{number:05d}", Kind.FILE) for number in range(2_500)]


def broken_after_many() -> Iterator[Listed]:
    yield from MANY
    raise ListingIncomplete("listing stopped below /x: EACCES")


def killed_after_one() -> Iterator[Listed]:
    yield Entry("a", Kind.FILE)
    os.kill(os.getpid(), signal.SIGKILL)


def without_end() -> Iterator[Listed]:
    return (Entry(f"f{number}", Kind.FILE) for number in itertools.count())


def test_an_error_comes_after_what_was_listed_before_it(crew: Crew) -> None:
    before: list[Listed] = []
    with pytest.raises(ListingIncomplete, match="EACCES"), listed_apart(broken_after_many, crew) as found:
        before.extend(found)
    assert before == MANY[: len(before)]
    assert processes_of(crew) == []


def test_a_process_that_is_killed_is_no_end_of_the_listing(crew: Crew) -> None:
    with pytest.raises(Transient, match="ended with -9"), listed_apart(killed_after_one, crew) as found:
        list(found)
    assert processes_of(crew) == []


def test_the_process_ends_where_the_listing_is_left(crew: Crew) -> None:
    with listed_apart(without_end, crew) as found:
        assert next(found) == Entry("f0", Kind.FILE)
        assert len(processes_of(crew)) == 1
    assert processes_of(crew) == []


def test_without_a_crew_this_process_lists() -> None:
    with listed_apart(partial(iter, [Entry("a", Kind.FILE)]), None) as found:
        assert list(found) == [Entry("a", Kind.FILE)]


PATHS = st.lists(st.text(alphabet="ab-/", min_size=1, max_size=5), max_size=12, unique=True)


def ledger_of(crew: Crew | None, mode: str, old: list[str], new: list[str], extra: list[str]) -> Json:
    """What a listing leaves that finds ``old`` files copied, and ``new`` and ``extra`` ones at one end."""
    changes = itertools.count(1)
    source, destination = MemoryTree(changes), MemoryTree(changes)
    world = World(changes, source, destination, MemoryStore(), forks=crew is not None, crew=crew)
    for tree, paths in ((source, [*old, *new, "k"]), (destination, [*old, *extra, "k"])):
        for path in paths:
            if not path.startswith("/") and "//" not in path:
                tree.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, b"")
    request = {"source": "efs:///tree", "destination": "efs:///copy", "mode": mode}
    world.list_all(world.plan(request | ({"delete_guard": {"max_percent": 99}} if mode == "sync" else {})))
    if mode != "sync":
        partition_shards(world.context())
    return {key: world.store.get(key) for key in world.store.list("")}


@settings(max_examples=100 if LONG else 20)  # each lists in another process
@given(PATHS, PATHS, PATHS, st.sampled_from(["copy", "sync", "plan"]), st.integers(1, 20))
def test_the_ledger_is_the_same(
    crew: Crew, old: list[str], new: list[str], extra: list[str], mode: str, budget: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", budget)
        assert ledger_of(crew, mode, old, new, extra) == ledger_of(None, mode, old, new, extra)
