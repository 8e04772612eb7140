"""The benchmark of listing, deciding and partitioning goes through what a run does."""

from __future__ import annotations

import pytest

from benchmarks import partition
from fanout.facts import tuning


def test_a_small_one_counts_every_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", tuning.SEGMENT_ENTRIES)  # which the benchmark sets
    found = partition.run(2_000)
    assert found["entries"] == 2_000
    assert found["shards"] >= 1
