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

from fanout.listing.index.copied_index import IndexFiles, IndexPart, IndexRows, State, Verdict, verdict
from fanout.model.columns import FileColumns
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.shards.round_records import IndexFile

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
    assert part.verdict(replace(here, path="q"), THERE) is Verdict.DIFFERS  # lacks the path
    for field in ("size", "mtime_ns", "changed_ns"):  # the source differs
        assert part.verdict(replace(here, **{field: getattr(here, field) - 1}), THERE) is Verdict.DIFFERS
    assert part.verdict(replace(here, etag='"another"'), THERE) is Verdict.DIFFERS
    assert part.verdict(here, THERE) is (Verdict.VOUCHED if seen else Verdict.COPIED)
    for differs in (replace(THERE, changed_ns=60), replace(THERE, etag='"another"')):  # the destination differs
        assert part.verdict(here, differs) is (Verdict.DIFFERS if seen else Verdict.COPIED)


@pytest.mark.parametrize("field", ["mtime_ns", "changed_ns"])
def test_a_file_at_the_destination_that_anybody_touched_differs(field: str) -> None:
    """Also by its ctime alone: a file that was replaced by one of the same mtime shows no other trace."""
    source, file = Entry("p", Kind.FILE, 5, 9, 9, '"e"'), Entry("p", Kind.FILE, 5, 70, 80)
    part = indexed(source, file)
    assert part.verdict(source, file) is Verdict.VOUCHED
    assert part.verdict(source, replace(file, **{field: 99})) is Verdict.DIFFERS


def test_directories_are_in_no_index() -> None:
    rows = IndexRows()
    rows.add(Entry("d/", Kind.DIRECTORY), None)
    assert not len(rows)


NUMBERS = st.integers(0, 3)
ETAGS = st.sampled_from(["", '"a"', '"b"'])
SEEN = st.tuples(NUMBERS, NUMBERS, NUMBERS, ETAGS, NUMBERS, NUMBERS, ETAGS)


@given(st.none() | SEEN, st.booleans(), SEEN)
def test_nothing_is_vouched_for_but_what_is_the_same_and_was_seen(
    known: State | None, was_seen: bool, found: State
) -> None:
    if known is not None and not was_seen:
        known = (*known[:4], None, None, "")
    same = known is not None and known[:4] == found[:4] and (not was_seen or known[4:] == found[4:])
    expected = Verdict.DIFFERS if not same else Verdict.VOUCHED if was_seen else Verdict.COPIED
    assert verdict(known, found) is expected


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
    assert part.verdicts(*now) == [part.verdict(source, destination) for source, destination in entries]


@given(st.lists(st.text("a/-é\udcff", min_size=1, max_size=3), unique=True, max_size=12), st.data())
def test_a_path_is_looked_for_in_the_file_that_holds_it(paths: list[str], data: st.DataObject) -> None:
    paths.sort(key=os.fsencode)
    cuts = sorted({0, len(paths), *data.draw(st.lists(st.integers(0, len(paths)), max_size=4))})
    files = [IndexFile(str(one), paths[one], paths[two - 1]) for one, two in itertools.pairwise(cuts) if one < two]
    index = IndexFiles(data.draw(st.permutations(files)))
    for number, path in enumerate(paths):
        held = index.holding(path)
        assert held is not None and held == [file for file in files if int(file.key) <= number][-1]
    some = data.draw(st.lists(st.sampled_from([*paths, "", "a", "b/"]), min_size=1)) if paths else [""]
    some.sort(key=os.fsencode)
    assert index.holding_each(some) == list(map(index.holding, some))
    for path in ("", "\udcff" * 4):
        assert index.holding(path) is None
