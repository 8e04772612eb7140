"""A bucket listed in pieces: the same entries, at the same time, with bounded memory, and errors at their place."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import tuning
from fanout.listing.index.copied_index import IndexFiles
from fanout.listing.pieces import list_end, listed_in_pieces
from fanout.model.columns import Listed, one_by_one
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ListingIncomplete
from fanout.model.location import S3Location
from fanout.model.segment import Segment, cut, no_pruning
from fanout.shards.round_records import IndexFile
from tests.listing.test_earlier_index import FROM_S3, INSIDE_S3, TO_S3, run, world_of
from tests.support.memory import MemoryTree
from tests.support.versions import Versions

BUCKET = S3Location("a-bucket", "")
PATHS = st.lists(st.sampled_from(["a", "a-", "é", "b"]), min_size=1, max_size=3).map("/".join)
SECONDS = 10.0


def pieces(count: int) -> list[Segment]:
    return cut(Segment("s"), [f"{number:02d}" for number in range(1, count)])


def files(piece: Segment, count: int) -> list[Entry]:
    return [Entry(f"{piece.after}/{number:05d}", Kind.FILE) for number in range(count)]


BOUNDS = st.one_of(st.just(""), PATHS)


@given(st.sets(PATHS), st.lists(PATHS, max_size=4), BOUNDS, BOUNDS, st.sampled_from(["", "a/", "a/a/", "b/"]))
def test_pieces_hold_what_the_segment_holds(
    keys: set[str], marks: list[str], after: str, until: str, pruned: str
) -> None:
    tree = MemoryTree(itertools.count(1))
    for key in keys:
        tree.put(key, Kind.FILE, b"x")
    segment = Segment("s", after=after, until=until)
    prunes = (lambda path: path.startswith(pruned)) if pruned else no_pruning
    found = one_by_one(list_end(tree, BUCKET, segment, marks, prunes))
    assert list(found) == list(tree.list(segment, prunes))


def test_some_pieces_are_listed_at_the_same_time() -> None:
    together = threading.Barrier(tuning.PIECES_AHEAD)

    def listing(piece: Segment) -> Iterator[Listed]:
        together.wait(SECONDS)  # raises if they come one after the other
        yield from files(piece, 1)

    some = pieces(2 * tuning.PIECES_AHEAD)
    assert list(listed_in_pieces(listing, some)) == [one for piece in some for one in files(piece, 1)]


def test_no_more_is_held_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "PIECE_HELD", 10)
    some = pieces(9)
    told: dict[str, int] = dict.fromkeys((piece.after for piece in some), 0)

    def listing(piece: Segment) -> Iterator[Listed]:
        for one in files(piece, 50):
            told[piece.after] += 1
            yield one

    found = listed_in_pieces(listing, some)
    taken = []
    for number, one in enumerate(found):
        taken.append(one)
        here = number // 50
        assert all(count <= 10 for count in list(told.values())[here + 1 :])
        assert not any(list(told.values())[here + 1 + tuning.PIECES_AHEAD :])
    assert taken == [one for piece in some for one in files(piece, 50)]


def test_an_error_of_a_piece_comes_after_the_pieces_before_it() -> None:
    some = pieces(3)

    def listing(piece: Segment) -> Iterator[Listed]:
        if piece == some[1]:
            raise ListingIncomplete("no answer")
        yield from files(piece, 2)

    found = listed_in_pieces(listing, some)
    assert [next(found), next(found)] == files(some[0], 2)
    with pytest.raises(ListingIncomplete):
        next(found)


@pytest.mark.parametrize("request_", [FROM_S3, TO_S3, INSIDE_S3])
def test_a_run_lists_its_buckets_by_the_marks_of_the_run_before(
    request_: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "PIECE_ENTRIES", 2)
    names = [f"d{number // 3}/f{number}" for number in range(9)]
    world, source, destination = world_of(*names)
    world, copied = run(world, 1, request_)
    assert copied >= len(names)
    asked: dict[Versions, list[Segment]] = {source: [], destination: []}
    list_columns = Versions.list_columns

    def noted(tree: Versions, segment: Segment, prunes: object = no_pruning) -> Iterator[Listed]:
        asked[tree].append(segment)
        return list_columns(tree, segment, prunes)  # type: ignore[arg-type]

    monkeypatch.setattr(Versions, "list_columns", noted)
    source.put("d1/f3-new", Kind.FILE, b"new")
    world, copied = run(world, 2, request_)
    assert copied == 1
    for tree, end in ((source, "source"), (destination, "destination")):
        is_keyed = str(request_[end]).startswith("s3:")
        assert [one.until for one in asked[tree]] == ([*names[1:8:2], ""] if is_keyed else [""])


def test_a_file_of_the_index_ends_a_piece_too() -> None:
    later, first = IndexFile("k", "c", "d", ["c/1"]), IndexFile("j", "a", "b")
    assert IndexFiles([later, first]).marks == ["b", "c/1"]
    assert IndexFiles([]).marks == []
