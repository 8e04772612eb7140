"""Names of one file: the table of what becomes of them, and that none is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import aws
from fanout.ledger.rows import entry_from_row, entry_row, link_from_row, link_row, name_from_row, name_row
from fanout.model.entry import NOTHING_THERE, Entry, Kind
from fanout.model.shard import Name
from fanout.shards.hard_links import Placed, files_of, place


def name(path: str, there: str = "", *, unchanged: bool = False, inode: str = "1") -> Name:
    return Name(Entry(path, Kind.FILE, 5, inode=inode), unchanged, there)


def right(path: str, there: str) -> Name:
    return name(path, there, unchanged=True)


TABLE = [
    # names, linked, copied, linked to the first, unchanged
    ([name("a"), right("b", "")], False, ["a"], [], ["b"]),
    ([name("a")], True, ["a"], [], []),
    ([right("a", "")], True, [], [], ["a"]),
    ([right("a", "7"), right("b", "7")], True, [], [], ["a", "b"]),
    ([right("a", "7"), right("b", "8")], True, ["a"], ["b"], []),
    ([right("a", ""), right("b", "")], True, ["a"], ["b"], []),
    ([right("a", "7"), right("b", "7"), name("c", "7")], True, ["a"], ["b", "c"], []),
    ([right("a", "7"), right("b", "7"), name("c")], True, ["a"], ["b", "c"], []),
    ([name("a"), name("b")], True, ["a"], ["b"], []),
]


@pytest.mark.parametrize(("names", "linked", "copied", "links", "unchanged"), TABLE)
def test_table(names: list[Name], linked: bool, copied: list[str], links: list[str], unchanged: list[str]) -> None:
    placed = place(names, linked=linked)
    assert [entry.path for entry in placed.copies] == copied
    assert [(entry.path, first) for entry, first in placed.links] == [(path, copied[0]) for path in links]
    assert [entry.path for entry in placed.unchanged] == unchanged


def test_more_names_than_a_file_can_have_are_more_files() -> None:
    names = [name(f"{number:04d}") for number in range(2 * aws.HARD_LINKS + 1)]
    assert [len(file) for file in files_of(reversed(names), linked=True)] == [aws.HARD_LINKS, aws.HARD_LINKS, 1]
    assert [len(file) for file in files_of(names, linked=False)] == [len(names)]


NAMES = st.lists(st.tuples(st.sampled_from("123"), st.booleans(), st.sampled_from(["", "7", "8"])), max_size=30).map(
    lambda rows: [name(f"f{i}", there, unchanged=same, inode=inode) for i, (inode, same, there) in enumerate(rows)]
)


@given(NAMES, st.booleans())
def test_every_name_is_placed_once_and_linked_to_a_copy_of_its_own_file(names: list[Name], linked: bool) -> None:
    placed = Placed()
    for file in files_of(names, linked=linked):
        one = place(file, linked=linked)
        placed.copies += one.copies
        placed.links += one.links
        placed.unchanged += one.unchanged
    everywhere = placed.copies + [entry for entry, _ in placed.links] + placed.unchanged
    assert sorted(entry.path for entry in everywhere) == sorted(one.entry.path for one in names)
    inodes = {entry.path: entry.inode for entry in placed.copies}
    assert all(inodes[first] == entry.inode for entry, first in placed.links)


def test_rows_there_and_back_and_rows_of_before() -> None:
    one = name("a", "7", unchanged=True)
    assert name_from_row(name_row(one)) == one
    assert entry_from_row(entry_row(one.entry)) == one.entry
    assert link_from_row(link_row(one.entry, "first")) == (one.entry, "first")
    plain = Entry("a", Kind.FILE, 5, 1, 2, "e")
    assert entry_row(plain) == ["a", "file", 5, 1, 2, "e"]
    assert entry_from_row(entry_row(plain)) == plain


@given(st.sampled_from(["", "7"]), st.sampled_from(["", "b"]), st.sampled_from(["", NOTHING_THERE, '"etag"']))
def test_what_an_entry_replaces_survives_every_kind_of_row(inode: str, target: str, replaces: str) -> None:
    entry = Entry("a", Kind.FILE, 5, 1, 2, "e", inode, target=target, replaces=replaces)
    assert entry_from_row(entry_row(entry)) == entry
    assert link_from_row(link_row(entry, "first")) == (entry, "first")
    one = Name(entry, unchanged=False, inode_there="8")
    assert name_from_row(name_row(one)) == one
