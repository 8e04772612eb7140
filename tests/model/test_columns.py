"""Columns of files say what the same files would say one by one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.listing.deciding.decisions import Decision, decide, unchanged_lengths
from fanout.listing.trees.merge import BothEnds, merge, merge_columns
from fanout.model.columns import FileColumns, first_path, in_columns, last_path, one_by_one
from fanout.model.entry import MARGIN_NS, Entry, Kind
from fanout.model.outcome import Reason
from fanout.model.path_rules import FilesAbove
from fanout.request.options import Compare
from fanout.shards.sizes import Sizes

PATHS = st.sets(st.text(alphabet="ab-/\udcffü", min_size=1, max_size=4), max_size=30)
MOST = st.integers(1, 4)


def entries(paths: set[str], inodes: frozenset[str] = frozenset()) -> list[Entry]:
    found = [
        Entry(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, len(path), inode="7" if path in inodes else "")
        for path in paths
    ]
    return sorted(found, key=lambda entry: entry.sort_key)


@given(PATHS, PATHS, MOST)
def test_columns_hold_what_can_be_held_and_give_it_back(paths: set[str], linked: set[str], most: int) -> None:
    one_each = entries(paths, frozenset(linked))
    listed = list(in_columns(one_each, most))
    assert list(one_by_one(listed)) == one_each
    for one in listed:
        if isinstance(one, FileColumns):
            held = one.entries()
            assert 1 <= len(held) == len(one) <= most
            assert one.paths == [entry.path for entry in held]
            assert not any("/" in name or name == "" for name in one.names)
            assert (first_path(one), last_path(one)) == (held[0].path, held[-1].path)
        else:
            assert one.kind is Kind.DIRECTORY or one.inode


def test_what_is_no_plain_file_stands_by_itself() -> None:
    odd = [
        Entry("a", Kind.SYMLINK),
        Entry("b", Kind.SPECIAL),
        Entry("c", Kind.FILE, problem=Reason.LINK_LOOP),
        Entry("d/", Kind.UNLISTABLE),
        Entry("e/", Kind.FILE, 3),
    ]
    assert list(in_columns(odd, 5)) == odd


@given(PATHS, PATHS, MOST, MOST)
def test_a_merge_of_columns_is_that_of_their_files(left: set[str], right: set[str], most: int, other: int) -> None:
    found: list[BothEnds] = []
    for one, two in merge_columns(in_columns(entries(left), most), in_columns(entries(right), other)):
        if isinstance(one, FileColumns):
            assert not isinstance(two, Entry) and (two is None or one.names == two.names)
            there = two.entries() if two is not None else [None] * len(one)
            found += list(zip(one.entries(), there, strict=True))
        else:
            assert not isinstance(two, FileColumns)
            found.append((one, two))
    assert found == list(merge(iter(entries(left)), iter(entries(right))))


def test_few_new_files_between_others_do_not_make_copies_of_all_that_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []
    part = FileColumns.part

    def counted(files: FileColumns, start: int, end: int | None = None) -> FileColumns:
        found = part(files, start, end)
        copied.append(len(found))
        return found

    monkeypatch.setattr(FileColumns, "part", counted)
    names = [f"{number:04d}" for number in range(1_000)]
    pairs = merge_columns(in_columns(entries(set(names)), 1_000), in_columns(entries(set(names[::3])), 1_000))
    assert len(list(pairs)) == len(names)
    assert sum(copied) < 100 * len(names)


TIMES = st.sampled_from([0, 1, MARGIN_NS, MARGIN_NS + 1])
FILES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), TIMES, TIMES), min_size=1, max_size=8)


@given(FILES, st.booleans(), st.booleans())
def test_columns_are_decided_as_their_files_are(
    facts: list[tuple[int, int, int, int]], source_is_s3: bool, destination_is_s3: bool
) -> None:
    here = [Entry(f"f{number}", Kind.FILE, 5, 3, times[2]) for number, times in enumerate(facts)]
    there = [
        Entry(f"f{number}", Kind.FILE, 5 + size, 3 + mtime, at) for number, (size, mtime, _, at) in enumerate(facts)
    ]
    here = [replace(entry, etag='"1"' if source_is_s3 else "") for entry in here]
    there = [replace(entry, etag='"2"' if destination_is_s3 else "") for entry in there]
    [source], [destination] = in_columns(here, 8), in_columns(there, 8)
    assert isinstance(source, FileColumns) and isinstance(destination, FileColumns)
    unchanged = []
    for number, length in enumerate(unchanged_lengths(source, destination)):
        assert length or not number
        unchanged += [number % 2 == 0] * length
    decisions = [decide(one, two, Compare.SIZE_MTIME) for one, two in zip(here, there, strict=True)]
    assert unchanged == [decision is Decision.UNCHANGED for decision in decisions]


@given(
    st.sets(st.text(alphabet="ab-", min_size=1, max_size=4), min_size=1),
    st.text(alphabet="ab-/", min_size=1),
    st.integers(0, 3),
)
@example({"a", "a-", "b"}, "-/x", 1)
@example({"a-1", "a-1-", "b"}, "--/x", 1)
def test_files_added_together_are_above_what_they_are_above_one_by_one(names: set[str], later: str, cut: int) -> None:
    paths = sorted(names)
    one_by_one_above, together = FilesAbove(), FilesAbove()
    for part in (paths[:cut], paths[cut:]):
        if part:
            together.add_files(part)
    for path in paths:
        one_by_one_above.covers(path)
        one_by_one_above.add(path)
    path = paths[-1] + later
    assert together.parents(path) == one_by_one_above.parents(path)


@given(st.lists(st.integers(0, 2**40), max_size=20))
def test_sizes_of_many_files_are_those_of_each(sizes: list[int]) -> None:
    one_each, together = Sizes(), Sizes()
    for size in sizes:
        one_each.add(Entry("f", Kind.FILE, size))
    together.add_files(sizes)
    assert together == one_each
