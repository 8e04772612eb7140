"""Segments: what is left of one, in pieces, is neither lost nor listed twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.model.entry import Kind
from fanout.model.segment import Segment, after_subtree, cut, open_round, rest_of, within
from tests.support.memory import MemoryTree

NAMES = st.text(alphabet="ab0-.\udcff~\U0010ffff", min_size=1, max_size=3)
PATHS = st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=40)
CUTS = st.lists(st.text(alphabet="ab0-./\udcff~\U0010ffff", max_size=8), max_size=8)


def tree_of(paths: set[str]) -> MemoryTree:
    tree = MemoryTree()
    for path in paths:
        tree.put(path, Kind.FILE)
    return tree


def listed(tree: MemoryTree, segment: Segment) -> list[str]:
    return [entry.path for entry in tree.list(segment)]


@given(PATHS, CUTS, st.data())
def test_pieces_hold_exactly_what_is_left_in_its_order(paths: set[str], cuts: list[str], data: st.DataObject) -> None:
    tree = tree_of(paths)
    everything = listed(tree, Segment("s"))
    if not everything:
        return
    last = data.draw(st.integers(0, len(everything) - 1))
    known = data.draw(st.lists(st.sampled_from(everything), max_size=4))
    pieces = cut(rest_of(Segment("s"), everything[last], ()), [*cuts, *known])
    assert [path for piece in pieces for path in listed(tree, piece)] == everything[last + 1 :]


@given(PATHS, st.integers(1, 5), st.integers(1, 6))
def test_every_path_is_listed_once_through_many_rounds(paths: set[str], budget: int, ways: int) -> None:
    tree = tree_of(paths)
    found: list[str] = []
    frontier = [Segment("s")]
    while frontier:
        segment = frontier.pop()
        here = listed(tree, segment)
        found += here[:budget]
        if len(here) > budget:
            rest = rest_of(segment, here[budget - 1], ())
            frontier += cut(rest, tree.cuts(rest, ways))
    assert sorted(found) == sorted(paths)


@given(CUTS, st.text(alphabet="ab/", max_size=4))
def test_pieces_are_disjoint_for_any_path(cuts: list[str], path: str) -> None:
    pieces = cut(Segment("s"), cuts)
    assert sum(within(piece, path) for piece in pieces) == (path != "")


def test_a_piece_knows_where_files_that_are_directories_too_may_lie() -> None:
    first, second = cut(rest_of(Segment("s"), "a-1", ("a",)), ["a-5"])
    assert (first.files_above, first.unlisted) == (("a",), "")
    assert (second.files_above, second.unlisted) == ((), "a-5")


def test_a_piece_is_listed_below_the_deepest_directory_of_both_its_bounds() -> None:
    assert [piece.prefix for piece in cut(Segment("s"), ["a/b/c", "a/b/d", "a/bc"])] == ["", "a/b/", "a/", ""]


def test_the_bound_after_a_subtree_lies_between_it_and_the_next_name() -> None:
    tree = tree_of({"a/b/x", "a/b/\udcff", "a/b0", "a/c"})
    assert listed(tree, Segment("s", "a/", after_subtree("a/b/"))) == ["a/b0", "a/c"]


def test_a_segment_that_ends_below_a_directory_leaves_it_to_another() -> None:
    assert Segment("s", until="a/b").ends_below("a/")
    assert not Segment("s", until="a/b").ends_below("a/b/")
    assert not Segment("s").ends_below("a/")


def test_few_segments_hand_back_early_and_in_many_pieces() -> None:
    (alone,) = open_round(1, [Segment("")])
    assert (alone.id, alone.ways) == ("0001-000000", tuning.FRONTIER_SEGMENTS)
    assert alone.budget_seconds == tuning.FIRST_SEGMENT_SECONDS
    many = open_round(2, [Segment("", after=str(number)) for number in range(tuning.FRONTIER_SEGMENTS)])
    assert {segment.ways for segment in many} == {2}
    assert {segment.budget_entries for segment in many} == {tuning.SEGMENT_ENTRIES}
    assert many[-1].id == f"0002-{tuning.FRONTIER_SEGMENTS - 1:06d}"


@given(st.lists(st.text(alphabet="ab/\udcff", max_size=4), min_size=6, max_size=6))
def test_a_segment_comes_back_from_its_row(texts: list[str]) -> None:
    bounds = Segment("0001", texts[1], texts[2], texts[3], (texts[4],))
    segment = replace(bounds, unlisted=texts[5], budget_entries=7, budget_seconds=1.5, ways=3)
    assert convert(to_builtins(segment), Segment) == segment
