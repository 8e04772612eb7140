"""Cuts: of keys by probing, of directories by reading them; few for little, even for much."""

from __future__ import annotations

import os
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.cuts import key_ranges
from fanout.adapters.cuts.cuts import PIECE_ENTRIES, Contents, Mark, Survey, even_cuts
from fanout.adapters.cuts.key_ranges import Page, marks_of_keys
from fanout.adapters.posix.listing import sorted_names
from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.segment import Segment, cut, rest_of


class Keys:
    """A flat bucket of which only pages can be seen."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = sorted(keys, key=str.encode)
        self._bytes = [key.encode() for key in self._keys]
        self.probes = self.rounds = self.seen = 0

    def page(self, after: str, count: int) -> Page:
        self.probes += 1
        self.seen += count
        start = bisect_right(self._bytes, after.encode())
        return self._keys[start : start + count], start + count < len(self._keys)

    def probe(self, after: Sequence[str], count: int) -> Sequence[Page]:
        self.rounds += 1
        return [self.page(path, count) for path in after]

    def sizes(self, cuts: Sequence[str]) -> list[int]:
        edges = [0, *(bisect_right(self._bytes, one.encode()) for one in cuts), len(self._keys)]
        return [end - start for start, end in pairwise(edges)]


def cuts_of(keys: Keys, ways: int = 64) -> list[str]:
    return even_cuts(marks_of_keys(keys.probe, "", "", ways=ways, probes=tuning.CUT_PROBES), ways)


random_numbers = random.Random(7)
COUNT = 400_000
NAMINGS: dict[str, Callable[[int], str]] = {
    "numbers": lambda number: f"data/file-{number:09d}.bin",
    "hexadecimal": lambda _: f"{random_numbers.getrandbits(64):016x}",
    "times": lambda n: f"log-2026-{n // 34000 + 1:02d}-{n // 1200 % 28 + 1:02d}T{n % 1200:06d}",
    "letters": lambda _: "".join(random_numbers.choices("abcdefghijklmnopqrstuvwxyz", k=8)),
    "beyond ASCII": lambda number: f"ключ-{number:06d}-é",
}


@pytest.mark.parametrize("naming", NAMINGS)
def test_a_flat_prefix_is_cut_into_tens_of_pieces_of_like_size(naming: str) -> None:
    keys = Keys([*map(NAMINGS[naming], range(COUNT))])
    sizes = keys.sizes(cuts_of(keys))
    assert 24 <= len(sizes) <= 64
    assert max(sizes) <= 4 * COUNT / len(sizes)
    assert keys.probes <= tuning.CUT_PROBES + 2
    # One after the other, and all that the probes show: a tenth of the listing that is to be shared.
    assert keys.rounds <= 16 and keys.seen <= COUNT / 10


def test_a_range_that_is_denser_elsewhere_is_still_cut_where_the_keys_are() -> None:
    keys = Keys([f"a{n}" for n in range(2000)] + [f"m-{n:08d}" for n in range(COUNT)] + [f"z{n}" for n in range(2000)])
    assert max(keys.sizes(cuts_of(keys))) <= COUNT / 8


def test_what_a_page_holds_is_not_cut() -> None:
    assert cuts_of(Keys([f"{number:06d}" for number in range(key_ranges.PAGE)])) == []


def test_little_is_cut_into_few() -> None:
    assert len(cuts_of(Keys([f"{number:06d}" for number in range(12_000)]))) <= 4


@given(st.sets(st.text(max_size=6), min_size=1, max_size=60), st.integers(2, 9), st.integers(1, 40), st.integers(2, 7))
def test_hostile_keys_are_marked_within_the_budget(keys: set[str], ways: int, probes: int, page: int) -> None:
    """Whatever the marks are, ``cut`` keeps the pieces whole; here they must be valid keys, and the probes few."""
    known = Keys([key for key in keys if key.isprintable() and key])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_ranges, "PAGE", page)
        patch.setattr(key_ranges, "SAMPLE", page)
        marks = marks_of_keys(known.probe, "", "", ways=ways, probes=probes)
    assert known.probes <= probes + 2
    assert all(mark.path.encode() and mark.entries >= 0 for mark in marks)


def test_cuts_leave_about_the_same_between_them() -> None:
    marks = (Mark(f"{number:03d}", PIECE_ENTRIES * (10 if number < 10 else 1)) for number in range(110))
    chosen = even_cuts(marks, 20)
    assert sum(one < "010" for one in chosen) in range(8, 12)
    assert len(chosen) in range(17, 20)


def make(root: Path, paths: Sequence[str]) -> PosixTree:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    return PosixTree(root, "", "run", "attempt")


def test_a_file_system_is_cut_between_directories(tmp_path: Path) -> None:
    tree = make(tmp_path, [f"d{number:02d}/e/f" for number in range(30)])
    rest = rest_of(Segment("s"), "d03/e/f", ())
    cuts = tree.cuts(rest, 8)
    assert len(cuts) == 7 and set(cuts) <= {f"d{number:02d}" for number in range(30)}
    listed = [entry.path for piece in cut(rest, cuts) for entry in tree.list(piece)]
    assert listed == [entry.path for entry in tree.list(rest)]


def survey(holds: Mapping[str, Contents], ways: int, probes: int = tuning.CUT_PROBES) -> tuple[list[str], list[str]]:
    """The directories that were looked into, and the cuts."""
    found = Survey(Segment("s"), ways)
    looked: list[str] = []
    while together := found.next(min(4, probes - len(looked))):
        for level in together:
            looked.append(level.directory)
            found.add(level, holds.get(level.directory, Contents([])))
    return looked, found.cuts()


def files(directory: str, count: float) -> Contents:
    return Contents([Mark(f"{directory}file", count)])


def below(directory: str, count: int) -> Contents:
    return Contents([], [f"{directory}{number:02d}/" for number in range(count)])


def test_directories_beside_those_that_were_looked_into_count_as_much(tmp_path: Path) -> None:
    tree = make(tmp_path, [f"d{top}/e{number:02d}/f" for top in range(10) for number in range(20)])
    sizes = [len(list(tree.list(piece))) for piece in cut(Segment("s"), tree.cuts(Segment("s"), 8))]
    assert len(sizes) == 8 and max(sizes) <= 1.3 * min(sizes)


def test_directories_as_deep_as_those_that_were_looked_into_count_as_much() -> None:
    years = {"": below("", 3), **{f"{year:02d}/": below(f"{year:02d}/", 12) for year in range(3)}}
    months = {
        f"{year:02d}/{month:02d}/": below(f"{year:02d}/{month:02d}/", 30) for year in range(3) for month in range(12)
    }
    looked, cuts = survey(years | months, 40)
    assert len(looked) == 1 + 3 + 36
    assert len(cuts) == 39
    assert {one.count("/") for one in cuts} <= {1, 2}


def test_what_is_small_stays_together_and_what_is_large_is_cut() -> None:
    holds = {"": below("", 30), **{one: files(one, 10.0) for one in below("", 30).directories}}
    holds["07/"] = below("07/", 50)
    holds |= {directory: files(directory, PIECE_ENTRIES) for directory in holds["07/"].directories}
    looked, cuts = survey(holds, 40)
    assert set(looked) == set(holds)
    assert len(cuts) in range(30, 40) and sum(one.startswith("07/") for one in cuts) >= len(cuts) - 1


@given(st.data())
def test_a_survey_ends_within_its_probes_with_fewer_cuts_than_ways(data: st.DataObject) -> None:
    looked_into: dict[str, Contents] = {}
    ways, probes = data.draw(st.integers(1, 9)), data.draw(st.integers(0, 12))
    found = Survey(Segment("s"), ways)
    while together := found.next(min(3, probes - len(looked_into))):
        for level in together:
            names = data.draw(st.sets(st.sampled_from("abcé"), max_size=4))
            marks = [Mark(f"{level.directory}f", data.draw(st.floats(0, 1e9)))]
            contents = Contents(
                marks, [f"{level.directory}{name}/" for name in names], data.draw(st.sampled_from([1.0, 8.0]))
            )
            assert level.directory not in looked_into
            looked_into[level.directory] = contents
            found.add(level, contents)
    assert len(looked_into) <= probes
    cuts = found.cuts()
    assert len(cuts) <= ways - 1 and cuts == sorted(set(cuts), key=os.fsencode)


def test_directories_deeper_down_are_found_too(tmp_path: Path) -> None:
    tree = make(tmp_path, [f"only/way/d{number:02d}/f" for number in range(30)])
    assert len(tree.cuts(Segment("s"), 8)) == 7


def test_a_flat_directory_is_cut_between_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.adapters.cuts.cuts.PIECE_ENTRIES", 10.0)
    tree = make(tmp_path, [f"flat/{number:04d}" for number in range(400)])
    cuts = tree.cuts(rest_of(Segment("s"), "flat/0099", ()), 4)
    assert len(cuts) == 3 and all("flat/0099" < one < "flat/0399" for one in cuts)


@pytest.mark.parametrize("held", [1, 3, 1000])
@pytest.mark.parametrize("batch", [1, 4, 1000])
def test_a_directory_of_more_names_than_are_held_is_listed_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int, batch: int
) -> None:
    monkeypatch.setattr(tuning, "NAMES_HELD", held)
    monkeypatch.setattr(sorted_names, "BATCH", batch)
    monkeypatch.setattr(tuning, "STAT_SLOW_SECONDS", -1.0)  # in threads
    paths = [*(f"n{number}" for number in range(25)), "n1-/x", "n1./y", "n2_/z", "\udcff", "n1 "]
    tree = make(tmp_path, paths)
    expected = sorted([*paths, "n1-/", "n1./", "n2_/"], key=os.fsencode)
    assert [entry.path for entry in tree.list(Segment("s"))] == expected
    for after in expected:
        for until in (*expected, "n1", "n1-", ""):
            found = [entry.path for entry in tree.list(Segment("s", after=after, until=until))]
            low, high = os.fsencode(after), os.fsencode(until or "\udcff\udcff")
            assert found == [path for path in expected if low < os.fsencode(path) <= high]
