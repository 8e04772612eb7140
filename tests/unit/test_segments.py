"""Segments: the rest of one is neither lost nor listed twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.memory import MemoryTree
from fanout.domain.entries import Kind
from fanout.domain.segments import Segment, after_subtree, split_rest

PATHS = st.sets(
    st.lists(st.text(alphabet="ab0-\udcff~", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join), max_size=40
)


def tree_of(paths: set[str]) -> MemoryTree:
    tree = MemoryTree()
    for path in paths:
        tree.put(path, Kind.FILE)
    return tree


@given(PATHS, st.data())
def test_the_pieces_of_a_rest_are_the_entries_after_it(paths: set[str], data: st.DataObject) -> None:
    tree = tree_of(paths)
    everything = [entry.path for entry in tree.list(Segment("s"))]
    if not everything:
        return
    cut = data.draw(st.integers(0, len(everything) - 1))
    pieces = split_rest(Segment("s"), everything[cut], ())
    found = [entry.path for piece in pieces for entry in tree.list(piece)]
    assert sorted(found) == sorted(everything[cut + 1 :])


@given(PATHS, st.data())
def test_rests_of_rests_still_lose_nothing(paths: set[str], data: st.DataObject) -> None:
    tree = tree_of(paths)
    found: list[str] = []
    frontier = [Segment("s")]
    while frontier:
        segment = frontier.pop()
        listed = [entry.path for entry in tree.list(segment)]
        taken = listed[: data.draw(st.integers(1, 5))]
        found += taken
        if len(taken) < len(listed):
            frontier += split_rest(segment, taken[-1], ())
    assert sorted(found) == sorted(paths)


def test_the_bound_after_a_subtree_lies_between_it_and_the_next_name() -> None:
    tree = tree_of({"a/b/x", "a/b/\udcff", "a/b0", "a/c"})
    after = Segment("s", "a/", after_subtree("a/b/"))
    assert [entry.path for entry in tree.list(after)] == ["a/b0", "a/c"]
