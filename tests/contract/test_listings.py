"""The conformance suite of the port ``Tree``: what every adapter lists and finds, seen through the port alone."""

from __future__ import annotations

import stat

import pytest

from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ListingIncomplete
from fanout.model.segment import Segment, cut, rest_of
from fanout.ports.tree import Tree
from tests.contract.tree_use import WHOLE, entries, write
from tests.support.s3_servers import Lack


def test_missing_root_is_an_empty_tree(tree: Tree) -> None:
    assert list(tree.list(WHOLE)) == []


def test_listing_is_in_the_order_of_the_paths_bytes(tree: Tree, lacks: frozenset[Lack]) -> None:
    paths = ["b", "a/z", "a!", "a0", "ü", "a/b/c", "Z", "🙂", "\ue000", "a b+c%"]
    for path in paths:
        write(tree, path, b"")
    if Lack.BYTE_ORDER in lacks:
        with pytest.raises(ListingIncomplete, match="order of their bytes"):
            list(tree.list(WHOLE))
        return
    listed = [entry.path for entry in tree.list(WHOLE)]
    assert listed == sorted(listed, key=lambda path: path.encode())
    assert set(paths) == set(entries(tree))


def test_one_path_is_found_as_the_listing_shows_it(tree: Tree) -> None:
    for path in ("d/f", "g", "ü +%"):
        write(tree, path, path.encode())
    tree.make_directory(Entry("e/", Kind.DIRECTORY), Attributes(mode=stat.S_IFDIR | 0o755))
    tree.make_symlink(Entry("link", Kind.SYMLINK), b"d", Attributes())
    listed = list(tree.list(WHOLE))
    assert [tree.find(entry.path) for entry in listed if entry.path != "d/"] == [
        entry for entry in listed if entry.path != "d/"
    ]
    for path in ("", "none", "none/", "none/f", "g/", "g/f", "e", "link/f", "d/f/"):
        assert tree.find(path) is None


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        (Segment("1", after="a/1"), ["a/2", "ab", "b/1", "c"]),
        (Segment("1", until="b/1"), ["a/1", "a/2", "ab", "b/1"]),
        (Segment("1", after="a/1", until="b/1"), ["a/2", "ab", "b/1"]),
        (Segment("1", after="a/1", until="b/"), ["a/2", "ab"]),
        (Segment("1", after="a/2", until="a/3"), []),
        (Segment("1", prefix="a/"), ["a/1", "a/2"]),
        (Segment("1", prefix="a/", after="a/1"), ["a/2"]),
        (Segment("1", prefix="a/", until="a/2"), ["a/1", "a/2"]),
        (Segment("1", prefix="a/", until="a/1"), ["a/1"]),
        (Segment("1", prefix="a/", after="a"), ["a/1", "a/2"]),
        (Segment("1", prefix="none/"), []),
        (Segment("1", after="a/1\udcff", until="b\udcff"), ["a/2", "ab", "b/1"]),
    ],
)
def test_segment_bounds_the_listing(tree: Tree, segment: Segment, expected: list[str]) -> None:
    for path in ("a/1", "a/2", "ab", "b/1", "c"):
        write(tree, path, b"")
    assert list(entries(tree, segment)) == expected


@pytest.mark.usefixtures("in_byte_order")
def test_cuts_leave_pieces_that_hold_the_rest_once(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.adapters.cuts.cuts.PIECE_ENTRIES", 1.0)
    paths = [f"d/{number:02}/{name}" for number in range(12) for name in (3, "x/y", "ü")] + ["c", "d.", "dé/f"]
    for path in [*paths, *(f"e/{number:04}" for number in range(1_100))]:
        write(tree, path, b"")
    for after in ("", "d/05/3", "e/0004"):
        rest = rest_of(Segment("1"), after, ())
        cuts = list(tree.cuts(rest, 8))
        assert 3 <= len(cuts) <= 9, after
        pieces = cut(rest, cuts)
        whole = [entry.path for entry in tree.list(rest)]
        assert [entry.path for piece in pieces for entry in tree.list(piece)] == whole, after
        assert all(next(iter(tree.list(piece)), None) for piece in pieces[1:]), after


def test_nothing_is_cut_where_nothing_is(tree: Tree) -> None:
    assert list(tree.cuts(WHOLE, 8)) == []
    write(tree, "a", b"")
    assert list(tree.cuts(WHOLE, 8)) == []


def test_listing_of_more_than_a_page_can_be_closed_early(tree: Tree) -> None:
    names = [f"{number:04}" for number in range(1_050)]
    for name in names:
        write(tree, name, b"")
    assert list(entries(tree)) == names
    assert list(entries(tree, Segment("1", after="0998", until="1002"))) == ["0999", "1000", "1001", "1002"]
    listing = iter(tree.list(WHOLE))
    assert next(listing).path == "0000"
    del listing
