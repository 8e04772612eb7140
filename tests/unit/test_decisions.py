"""The decision's truth table, row by row, and the merge that feeds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.domain.decisions import MARGIN_NS, Compare, Decision, decide
from fanout.domain.entries import Entry, Kind
from fanout.domain.merge import merge

FILE, DIRECTORY, LINK = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK
SIZE, ALWAYS = Compare.SIZE_MTIME, Compare.ALWAYS
LATER = MARGIN_NS + 1

TABLE = [
    # source, destination, compare, same size, destination written after the source changed by, decision
    (FILE, None, SIZE, True, 0, Decision.COPY),
    (DIRECTORY, DIRECTORY, ALWAYS, True, LATER, Decision.COPY),
    (DIRECTORY, DIRECTORY, SIZE, True, MARGIN_NS, Decision.COPY),
    (DIRECTORY, DIRECTORY, SIZE, True, LATER, Decision.UNCHANGED),
    (FILE, DIRECTORY, SIZE, True, LATER, Decision.CONFLICT),
    (DIRECTORY, FILE, SIZE, True, LATER, Decision.CONFLICT),
    (FILE, FILE, ALWAYS, True, LATER, Decision.COPY),
    (FILE, FILE, SIZE, False, LATER, Decision.COPY),
    (FILE, FILE, SIZE, True, MARGIN_NS, Decision.COPY),
    (FILE, FILE, SIZE, True, -LATER, Decision.COPY),
    (FILE, FILE, SIZE, True, LATER, Decision.UNCHANGED),
    (LINK, FILE, SIZE, True, LATER, Decision.UNCHANGED),
    (LINK, FILE, SIZE, False, LATER, Decision.COPY),
]


@pytest.mark.parametrize(("source", "destination", "compare", "same_size", "after_ns", "decision"), TABLE)
def test_table(
    source: Kind, destination: Kind | None, compare: Compare, same_size: bool, after_ns: int, decision: Decision
) -> None:
    there = None if destination is None else Entry("p", destination, 5 if same_size else 6, 0, 10**12 + after_ns)
    assert decide(Entry("p", source, 5, 0, 10**12), there, compare) is decision


PATHS = st.sets(st.text(alphabet="a-/\udcffü", min_size=1, max_size=4), max_size=20)


@given(PATHS, PATHS)
def test_a_merge_pairs_what_both_ends_have_and_keeps_the_order(left: set[str], right: set[str]) -> None:
    def entries(paths: set[str]) -> list[Entry]:
        return sorted((Entry(path, FILE) for path in paths), key=lambda entry: entry.sort_key)

    pairs = list(merge(iter(entries(left)), iter(entries(right))))
    assert [one.path for one, _ in pairs if one] == [entry.path for entry in entries(left)]
    assert [two.path for _, two in pairs if two] == [entry.path for entry in entries(right)]
    assert {one.path for one, two in pairs if one and two} == left & right
