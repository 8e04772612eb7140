"""Directories above entries that are no entry themselves: each is told of once, with what both ends showed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.listing.directories.parents import SeenParents, Shown
from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import is_unfinished, mode_without_owner, parents_of
from fanout.model.segment import Segment

NAMES = st.sampled_from(["a", "b", "a-"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def directory(path: str, changed_ns: int = 1) -> Entry:
    return Entry(path, Kind.DIRECTORY, changed_ns=changed_ns)


@given(st.sets(PATHS), st.sets(PATHS), st.sets(PATHS), st.sets(PATHS), st.just("") | PATHS)
def test_every_directory_above_is_told_of_once_with_what_is_true(
    files: set[str], entries: set[str], there: set[str], unfinished: set[str], after: str
) -> None:
    segment = Segment("s", after=after)
    seen = SeenParents(segment)
    events = [(f"{path}/", 0) for path in there | unfinished] + [(f"{path}/", 1) for path in entries]
    events += [(path, 2) for path in files]
    told: dict[str, Shown] = {}
    expected: set[str] = set()
    for path, kind in sorted(events, key=lambda event: (event[0].encode(), event[1])):
        if path.encode() <= after.encode():
            continue
        if kind == 0:
            seen.at_destination(directory(path, 0 if path[:-1] in unfinished else 1))
            continue
        for parent, what in seen.above(path):
            assert parent not in told
            told[parent] = what
        expected |= {*parents_of(path)}
        if kind == 1:
            seen.at_source(path)
    assert set(told) == expected
    for parent, what in told.items():
        name = parent[:-1]
        if parent.encode() <= after.encode():
            assert what is Shown.UNKNOWN
        else:
            known = name in entries or (name in there and name not in unfinished)
            assert what is (Shown.KNOWN if known else Shown.IMPLIED)


def test_what_only_the_destination_holds_takes_no_memory() -> None:
    seen = SeenParents(Segment("s"))
    for number in range(1000):
        seen.at_destination(directory(f"d/{number:04d}/"))
    assert len(seen._known) <= 2


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (None, 0o755),
        (0o40755, 0o755),
        (0o40777, 0o755),
        (0o41777, 0o755),
        (0o40750, 0o700),
        (0o40705, 0o700),
        (0o40711, 0o711),
        (0o40754, 0o744),
        (0o40000, 0o700),
    ],
)
def test_a_directory_without_an_owner_gives_what_group_and_others_both_have(mode: int | None, expected: int) -> None:
    assert mode_without_owner(mode) == expected


def test_an_unfinished_directory_is_told_from_a_private_one() -> None:
    modes = (0o41700, 0o43700, 0o40700, 0o41777, 0o41701)
    assert [is_unfinished(mode) for mode in modes] == [True, True, False, False, False]
