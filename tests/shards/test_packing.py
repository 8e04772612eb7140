"""Shards hold every entry once, and take about the time they should."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import tuning
from fanout.model.columns import FileColumns, Listed, count_and_bytes, in_columns, one_by_one
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Rates
from fanout.shards.packing import Packer, pack, target_seconds

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
def test_files_in_columns_are_packed_as_each_alone_is(
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


def test_a_shard_holds_a_bounded_number_of_entries() -> None:
    entries = [Entry(f"f{i}", Kind.FILE) for i in range(tuning.SHARD_ENTRIES + 1)]
    assert [len(shard) for shard in pack(entries, Rates(0.0, 1.0), 60.0)] == [tuning.SHARD_ENTRIES, 1]


def test_the_target_keeps_all_workers_busy_within_its_bounds() -> None:
    assert target_seconds(total_seconds=10_000, workers=10, shard_seconds=60) == 60
    assert target_seconds(total_seconds=300, workers=10, shard_seconds=60) == 30
    assert target_seconds(total_seconds=3, workers=10, shard_seconds=60) == tuning.SHARD_SECONDS_MIN
    assert target_seconds(total_seconds=3, workers=10, shard_seconds=1) == 1
