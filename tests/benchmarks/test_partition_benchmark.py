"""The benchmark of listing, deciding and partitioning goes through what a run does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import beside_fpart, partition
from benchmarks.directory_store import DirectoryStore
from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.shards.partitioned import shards_of


@pytest.fixture(autouse=True)
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back what the benchmarks set."""
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", tuning.SEGMENT_ENTRIES)


def test_a_small_one_counts_every_entry() -> None:
    found = partition.run(2_000)
    assert found["entries"] == 2_000
    assert found["shards"] >= 1


def test_new_files_beside_fpart_are_all_in_shards(tmp_path: Path) -> None:
    beside_fpart.make_files(tmp_path / "tree", 3, 4)
    beside_fpart.ours(tmp_path)
    ledger = Ledger(DirectoryStore(tmp_path / "out"), "bench")
    shards = shards_of(ledger)
    # 12 files, three directories, and the one above them.
    assert sum(shard.entries for shard in shards) == 16
