"""The truth table of ``fanout.verifying.link_groups``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import aws
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Name
from fanout.shards.hard_links import place
from fanout.verifying.link_groups import ComparedName, by_destination, by_source


def name(path: str, here: str, there: str) -> ComparedName:
    return ComparedName(Name(Entry(path, Kind.FILE, 1, inode=here), unchanged=True, inode_there=there))


def differing(names: list[ComparedName]) -> set[str]:
    return {one.name.entry.path for one in by_destination(by_source(names)) if one.difference}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([("a", "1", "7"), ("b", "1", "7")], set()),
        ([("a", "1", "7"), ("b", "1", "8")], {"b"}),
        ([("a", "1", "7"), ("b", "1", "")], {"b"}),
        ([("a", "1", ""), ("b", "1", "7"), ("c", "1", "7")], {"a"}),
        ([("a", "1", "7"), ("b", "2", "7"), ("c", "2", "7")], {"a"}),
        ([("a", "", "7"), ("b", "", "7")], {"b"}),
        ([("a", "", ""), ("b", "", "")], set()),
        ([("a", "1", "7"), ("b", "2", "8")], set()),
        ([("a", "1", "7"), ("b", "1", "8"), ("c", "2", "7"), ("d", "2", "8")], {"b", "c", "d"}),
    ],
)
def test_table(names: list[tuple[str, str, str]], expected: set[str]) -> None:
    assert differing([name(*one) for one in names]) == expected


@pytest.mark.parametrize(("per_file", "differs"), [(aws.HARD_LINKS, 0), (1_000, 0), (100, 144)])
def test_more_names_than_a_file_of_efs_has_may_be_as_many_files_as_they_need(per_file: int, differs: int) -> None:
    names = [name(f"{number:03}", "1", str(number // per_file)) for number in range(344)]
    assert len(differing(names)) == differs


NAMES = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["1", "2", "3", ""]), max_size=8)


@given(NAMES)
def test_what_a_copy_links_is_grouped_alike(here: dict[str, str]) -> None:
    names = [name(path, inode, f"copy of {inode}" if inode else "") for path, inode in here.items()]
    assert differing(names) == set()


@given(st.lists(st.tuples(st.sampled_from(["1", "2", ""]), st.sampled_from(["7", "8", ""])), max_size=8))
def test_every_name_comes_back_once_and_none_differs_only_if_the_groups_are_the_same(
    found: list[tuple[str, str]],
) -> None:
    names = [name(f"{number}", *one) for number, one in enumerate(found)]
    told = list(by_destination(by_source(names)))
    assert sorted(one.name.entry.path for one in told) == [one.name.entry.path for one in names]

    def groups(side: int) -> set[frozenset[int]]:
        by_file: dict[str, set[int]] = {}
        for number, one in enumerate(found):
            by_file.setdefault(one[side] or f"alone {number}", set()).add(number)
        return set(map(frozenset, by_file.values()))

    assert any(one.difference for one in told) is (groups(0) != groups(1))


def test_a_copy_of_names_that_differ_makes_them_alike() -> None:
    names = [name("a", "1", "7").name, name("b", "1", "8").name]
    placed = place(names, linked=True)
    assert [entry.path for entry in placed.copies] == ["a"] and placed.links[0][1] == "a"
