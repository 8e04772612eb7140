"""What is extra at the destination: the table, against a plain computation over whole trees, and over cuts."""

from __future__ import annotations

import itertools
import os

from hypothesis import example, given
from hypothesis import strategies as st

from fanout.listing.directories.extras import Extras
from fanout.listing.trees.merge import merge
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment

NAMES = st.lists(st.sampled_from(["a", "a-", "b", "a0"]), min_size=1, max_size=3).map("/".join)
FILES = st.sets(NAMES, max_size=6)
KEYS = st.sets(st.one_of(NAMES, NAMES.map(lambda name: f"{name}/")), max_size=6)


def tree(files: set[str]) -> list[Entry]:
    """A file system with those files that no other one stands in the way of, and the directories above them."""
    plain = {path for path in files if not any(other.startswith(f"{path}/") for other in files)}
    directories = {path[: end + 1] for path in plain for end, char in enumerate(path) if char == "/"}
    return sorted([entry(path) for path in plain | directories], key=lambda one: one.sort_key)


def entry(path: str) -> Entry:
    return Entry(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE)


def found(source: list[Entry], destination: list[Entry], *, on_files: bool, cuts: list[str]) -> set[str]:
    """The extras of both streams, listed in segments that end at the cuts."""

    asked: list[str] = []

    def at_source(path: str) -> bool:
        asked.append(path)
        if path.endswith("/"):
            return any(one.path.startswith(path) for one in source)
        return any(one.path == path for one in source)

    extras: list[Entry] = []
    bounds = [b"", *sorted({os.fsencode(cut) for cut in cuts}), b"\xff"]
    for after, until in itertools.pairwise(bounds):
        inside = [[one for one in both if after < one.sort_key <= until] for both in (source, destination)]
        asked.clear()
        # The first piece was begun without an end and cut; the others have their ends from the start.
        cut, end = after == b"", "" if until == b"\xff" or after == b"" else os.fsdecode(until)
        finder = Extras(at_source, Segment("", after=os.fsdecode(after), until=end), on_files=on_files)
        for here, there in merge(iter(inside[0]), iter(inside[1])):
            if here is not None:
                extras += finder.source_entry(here.path)
            elif there is not None:
                extras += finder.destination_entry(there)
        assert all(after.startswith(os.fsencode(name)) for name in asked), "the listing has told it"
        assert len(set(asked)) == len(asked)
        extras += finder.close(cut=cut)
    assert len({one.path for one in extras}) == len(extras)
    return {one.path for one in extras}


def expected_on_files(source: set[str], destination: set[str]) -> set[str]:
    """The module's table, cell by cell, without any order."""
    extra = set()
    for path in destination - source:
        name = path.rstrip("/")
        above = {path[:end] for end, char in enumerate(path) if char == "/"}
        is_known = name in source or any(other.startswith(f"{name}/") for other in source)
        if not is_known and not above & source:
            extra.add(path)
    return extra


@given(FILES, FILES, st.lists(NAMES, max_size=3))
@example({"a/b/f", "b"}, {"a/b/f", "b"}, ["a", "a/b/"])
def test_between_file_systems(source: set[str], destination: set[str], cuts: list[str]) -> None:
    here, there = tree(source), tree(destination)
    expected = expected_on_files({one.path for one in here}, {one.path for one in there})
    assert found(here, there, on_files=True, cuts=cuts) == expected


@given(KEYS, FILES, st.lists(NAMES, max_size=3))
@example({"a-", "a-/", "a/a"}, {"a", "a-/a"}, [])
@example({"a/b/f"}, {"a/b/f"}, ["a", "a/b/"])
@example({"a-/a"}, {"a-"}, ["a", "a-"])
def test_from_a_bucket_to_a_file_system(source: set[str], destination: set[str], cuts: list[str]) -> None:
    here = sorted(map(entry, source), key=lambda one: one.sort_key)
    there = tree(destination)
    expected = expected_on_files(source, {one.path for one in there})
    assert found(here, there, on_files=True, cuts=cuts) == expected


@given(KEYS, KEYS, st.lists(NAMES, max_size=3))
def test_to_a_bucket_a_key_is_extra_that_the_source_does_not_have(
    source: set[str], destination: set[str], cuts: list[str]
) -> None:
    here, there = (sorted(map(entry, end), key=lambda one: one.sort_key) for end in (source, destination))
    assert found(here, there, on_files=False, cuts=cuts) == destination - source
