"""The index of an earlier run: its table, row by row, and that columns say what entries say."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.domain.copied_index import IndexFile, IndexFiles, IndexPart, IndexRows, State, contradicts
from fanout.domain.entries import Entry, Kind
from fanout.domain.file_columns import FileColumns
from fanout.domain.rows import Json

THERE = Entry("p", Kind.FILE, 5, 70, 70, '"there"')


def part_of(rows: IndexRows) -> IndexPart:
    """What is read back of rows that were written."""

    def read() -> Iterator[Json]:
        return (json.loads(json.dumps(row)) for row in rows.rows())

    return IndexPart(read())


def indexed(source: Entry, destination: Entry | None) -> IndexPart:
    """A part that holds one entry."""
    rows = IndexRows()
    rows.add(source, destination)
    return part_of(rows)


@pytest.mark.parametrize("here", [Entry("p", Kind.FILE, 5, 7, 9), Entry("p", Kind.SYMLINK, 5, 9, 9, '"e"')])
@pytest.mark.parametrize("seen", [True, False], ids=["seen", "not seen"])
def test_the_table_row_by_row(here: Entry, seen: bool) -> None:
    part = indexed(here, THERE if seen else None)
    assert part.changed(replace(here, path="q"), THERE)  # lacks the path
    for field in ("size", "mtime_ns", "changed_ns"):  # the source differs
        assert part.changed(replace(here, **{field: getattr(here, field) - 1}), THERE)
    assert part.changed(replace(here, etag='"another"'), THERE)
    assert not part.changed(here, THERE)  # both are as they were, or the destination was not seen
    for differs in (replace(THERE, changed_ns=60), replace(THERE, etag='"another"')):  # the destination differs
        assert part.changed(here, differs) is seen


def test_a_file_at_the_destination_may_be_given_to_another_owner() -> None:
    file = Entry("p", Kind.FILE, 5, 70, 80)
    part = indexed(Entry("p", Kind.FILE, 5, 9, 9, '"e"'), file)
    assert not part.changed(Entry("p", Kind.FILE, 5, 9, 9, '"e"'), replace(file, changed_ns=99))
    assert part.changed(Entry("p", Kind.FILE, 5, 9, 9, '"e"'), replace(file, mtime_ns=71))


def test_directories_are_in_no_index() -> None:
    rows = IndexRows()
    rows.add(Entry("d/", Kind.DIRECTORY), None)
    assert not len(rows)
    assert not part_of(rows).changed(Entry("d/", Kind.DIRECTORY), Entry("d/", Kind.DIRECTORY))


NUMBERS = st.integers(0, 3)
ETAGS = st.sampled_from(["", '"a"', '"b"'])
STATES = st.tuples(NUMBERS, NUMBERS, NUMBERS, ETAGS, st.none() | NUMBERS, ETAGS)


@given(st.none() | STATES, STATES)
def test_nothing_is_contradicted_but_by_a_difference(known: State | None, found: State) -> None:
    seen = known is not None and known[4] is not None
    same = known is not None and known[:4] == found[:4] and (not seen or known[4:] == found[4:])
    assert contradicts(known, found) is not same


@st.composite
def pairs(draw: st.DrawFn) -> tuple[FileColumns, FileColumns]:
    """Files under the same names at two ends, each a bucket or a file system."""
    names = sorted(draw(st.sets(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6)))
    one = st.tuples(*[NUMBERS] * len(names))
    sizes = draw(one)
    both = []
    for etags in (draw(st.booleans()), draw(st.booleans())):
        held = tuple('"e"' for _ in names) if etags else ()
        both.append(FileColumns("d/", names, sizes, draw(one), draw(one), held))
    return both[0], both[1]


@given(pairs(), pairs(), st.sets(NUMBERS))
def test_columns_say_what_entries_say(
    before: tuple[FileColumns, FileColumns], now: tuple[FileColumns, FileColumns], copied: set[int]
) -> None:
    rows = IndexRows()
    singles = zip(before[0].entries(), before[1].entries(), strict=True)
    if copied:
        for number, (source, destination) in enumerate(singles):
            rows.add(source, None if number in copied else destination)
    else:
        rows.add_files(*before)
    part = part_of(rows)
    entries = zip(now[0].entries(), now[1].entries(), strict=True)
    assert part.changed_files(*now) == [part.changed(source, destination) for source, destination in entries]


@given(st.lists(st.text("a/-é\udcff", min_size=1, max_size=3), unique=True, max_size=12), st.data())
def test_a_path_is_looked_for_in_the_file_that_holds_it(paths: list[str], data: st.DataObject) -> None:
    paths.sort(key=os.fsencode)
    cuts = sorted({0, len(paths), *data.draw(st.lists(st.integers(0, len(paths)), max_size=4))})
    files = [IndexFile(str(one), paths[one], paths[two - 1]) for one, two in itertools.pairwise(cuts) if one < two]
    index = IndexFiles(data.draw(st.permutations(files)))
    for number, path in enumerate(paths):
        held = index.holding(path)
        assert held is not None and held == [file for file in files if int(file.key) <= number][-1]
    for path in ("", "\udcff" * 4):
        assert index.holding(path) is None
