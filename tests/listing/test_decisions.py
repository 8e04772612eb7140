"""The decision's truth table, row by row, and the merge that feeds it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.listing.deciding.decisions import Decision, decide
from fanout.listing.trees.merge import merge
from fanout.model.entry import MARGIN_NS, Entry, Kind, same_simple_etag
from fanout.request.options import Compare

FILE, DIRECTORY, LINK = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK
LATER = MARGIN_NS + 1

KINDS = (FILE, DIRECTORY, LINK, Kind.SPECIAL, Kind.UNLISTABLE)
AFTER = (-LATER, 0, MARGIN_NS, LATER)
CELLS = list(
    itertools.product(KINDS, (None, *KINDS), Compare, (True, False), ("equal", "differ", "unknown"), AFTER),
)


def by_the_table(
    source: Kind, destination: Kind | None, compare: Compare, same_size: bool, times: str, after_ns: int
) -> Decision:
    """The module's table, read from the top."""
    if destination is None:
        return Decision.COPY
    directories = source is destination is DIRECTORY
    if not directories and not {source, destination} <= {FILE, LINK}:
        return Decision.CONFLICT
    if compare is Compare.ALWAYS or not same_size:
        return Decision.COPY
    if compare is Compare.CHECKSUM and not directories:
        return Decision.COMPARE
    written_after = after_ns > MARGIN_NS
    return Decision.UNCHANGED if written_after and times != "differ" else Decision.COPY


def test_every_cell_of_the_table() -> None:
    """Whether an end is an object shows in its ETag; then the owner's times are not known."""
    assert len(CELLS) == 5 * 6 * 3 * 2 * 3 * 4
    for source, destination, compare, same_size, times, after_ns in CELLS:
        etag = '"of an object"' if times == "unknown" else ""
        here = Entry("p", source, 5, 7, 10**12)
        there = None
        if destination is not None:
            mtime_ns = 7 if times == "equal" else 8
            there = Entry("p", destination, 5 if same_size else 6, mtime_ns, 10**12 + after_ns, etag)
        expected = by_the_table(source, destination, compare, same_size, times, after_ns)
        assert decide(here, there, compare) is expected, (here, there, compare)


def test_the_margin_may_be_wider() -> None:
    here = Entry("p", FILE, 5, 7, 10**12)
    there = Entry("p", FILE, 5, 7, 10**12 + 3 * MARGIN_NS, '"e"')
    assert decide(here, there, Compare.SIZE_MTIME, 2 * MARGIN_NS - 1) is Decision.UNCHANGED
    assert decide(here, there, Compare.SIZE_MTIME, 2 * MARGIN_NS) is Decision.COPY


@pytest.mark.parametrize(
    ("source", "destination", "same"),
    [('"a"', '"a"', True), ('"a"', '"b"', False), ('"a-2"', '"a-2"', False), ("", "", False)],
)
def test_equal_etags_tell_equal_bytes_only_where_they_are_of_the_whole(
    source: str, destination: str, same: bool
) -> None:
    assert same_simple_etag(source, destination) is same


PATHS = st.sets(st.text(alphabet="a-/\udcffü", min_size=1, max_size=4), max_size=20)


@given(PATHS, PATHS)
def test_a_merge_pairs_what_both_ends_have_and_keeps_the_order(left: set[str], right: set[str]) -> None:
    def entries(paths: set[str]) -> list[Entry]:
        return sorted((Entry(path, FILE) for path in paths), key=lambda entry: entry.sort_key)

    pairs = list(merge(iter(entries(left)), iter(entries(right))))
    assert [one.path for one, _ in pairs if one] == [entry.path for entry in entries(left)]
    assert [two.path for _, two in pairs if two] == [entry.path for entry in entries(right)]
    assert {one.path for one, two in pairs if one and two} == left & right
