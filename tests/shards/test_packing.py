"""Shards hold every entry once, and take about the time they should."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import tuning
from fanout.ledger.rows import entry_row
from fanout.model.columns import FileColumns, Listed, count_and_bytes, in_columns, one_by_one
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Rates
from fanout.shards.packing import Packer, pack, spread, target_seconds

RATES = Rates(seconds_per_entry=0.01, bytes_per_second=1000.0)
ENTRIES = st.lists(st.tuples(st.sampled_from(["a/", "a/b/", "", "c/"]), st.integers(0, 5000)), max_size=80).map(
    lambda found: [Entry(f"{where}f{i}", Kind.FILE, size) for i, (where, size) in enumerate(found)]
)


@given(ENTRIES, st.floats(0.1, 10.0))
def test_every_entry_is_in_one_shard_and_no_shard_is_too_heavy(entries: list[Entry], target: float) -> None:
    shards = list(pack(entries, RATES, target))
    assert list(one_by_one(chain.from_iterable(shards))) == entries
    for shard in shards:
        seconds = RATES.seconds(*count_and_bytes(shard))
        assert len(shard) == 1 or seconds <= target * 1.0001


@given(ENTRIES, st.floats(0.1, 10.0), st.integers(1, 9), st.integers(1, 9))
def test_files_in_columns_are_packed_and_spread_as_each_alone_is(
    entries: list[Entry], target: float, most: int, at_most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "SHARD_ENTRIES", at_most)
        packer = Packer(RATES, target)
        shards: list[list[Listed]] = []
        for one in in_columns(entries, most):
            assert isinstance(one, FileColumns)
            shards += packer.add_files(one)
        shards += [rest] if (rest := packer.rest()) else []
        alone = list(pack(entries, RATES, target))
    assert [list(one_by_one(shard)) for shard in shards] == alone
    assert [list(map(list, spread(shard))) for shard in shards] == [spread(shard) for shard in alone]


def test_a_shard_holds_a_bounded_number_of_entries() -> None:
    entries = [Entry(f"f{i}", Kind.FILE) for i in range(tuning.SHARD_ENTRIES + 1)]
    assert [len(shard) for shard in pack(entries, Rates(0.0, 1.0), 60.0)] == [tuning.SHARD_ENTRIES, 1]


@given(ENTRIES)
def test_spreading_keeps_every_entry_and_takes_directories_in_turn(entries: list[Entry]) -> None:
    ordered = spread(entries)
    assert sorted(map(list, ordered)) == sorted(map(entry_row, entries))
    directories = [row[0].rpartition("/")[0] for row in ordered]
    for start in range(len(directories) - 1):
        if directories[start] == directories[start + 1]:
            assert set(directories[start:]) == {directories[start]}


def test_directories_come_before_what_they_hold() -> None:
    made = [
        Entry("a/", Kind.DIRECTORY),
        Entry("a/f", Kind.FILE),
        Entry("a/b/", Kind.DIRECTORY),
        Entry("a/b/g", Kind.FILE),
    ]
    assert [row[0] for row in spread(made)] == ["a/", "a/b/", "a/f", "a/b/g"]


def test_directories_come_level_by_level() -> None:
    walked = [Entry(path, Kind.DIRECTORY) for path in ("a/", "a/b/", "a/b/c/", "d/", "d/e/", "f/")]
    assert [row[0] for row in spread(walked)] == ["a/", "d/", "f/", "a/b/", "d/e/", "a/b/c/"]


def test_directories_are_taken_in_turn_over_those_that_they_are_made_in() -> None:
    paths = ("p/", "q/", "p/a/", "p/b/", "p/c/", "q/a/", "q/b/")
    made = [Entry(path, Kind.DIRECTORY) for path in paths]
    assert [row[0] for row in spread(made)] == ["p/", "q/", "p/a/", "q/a/", "p/b/", "q/b/", "p/c/"]
    files = [Entry(f"{path}f", Kind.FILE) for path in paths]
    turns = [row[0] for row in spread(files)]
    assert turns == ["p/f", "p/a/f", "q/a/f", "q/f", "p/b/f", "q/b/f", "p/c/f"]


def test_the_target_keeps_all_workers_busy_within_its_bounds() -> None:
    assert target_seconds(total_seconds=10_000, workers=10, shard_seconds=60) == 60
    assert target_seconds(total_seconds=300, workers=10, shard_seconds=60) == 30
    assert target_seconds(total_seconds=3, workers=10, shard_seconds=60) == tuning.SHARD_SECONDS_MIN
    assert target_seconds(total_seconds=3, workers=10, shard_seconds=1) == 1
