"""SummariseTransfer's memory: a little for each shard, and for failures no more than one file of them takes."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from fanout.books import failure_writer, run_books
from fanout.model.document import Json
from fanout.summary import summarise_transfer as summary
from tests.support import runs
from tests.support.flow import World

# A shard's row with its plan and its seconds; the names of its files in the ledger.
BYTES_OF_A_SHARD = 3_000


def peaks_of(monkeypatch: pytest.MonkeyPatch, shards: int, failures: int, *kept: int) -> tuple[list[int], World]:
    """The most that a summary takes beside the ledger, in bytes, for each number of failures that it may hold."""
    peaks: list[int] = []

    def measured(caught: Json | None, context: Any) -> Json:
        answer = summary.summarise_transfer(caught, context)  # what is imported and cached once
        for number in kept:
            monkeypatch.setattr(failure_writer, "FAILURES_PER_FILE", number)
            monkeypatch.setattr(run_books, "FAILURES_KEPT", number)
            gc.collect()
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            answer = summary.summarise_transfer(caught, context)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
            tracemalloc.stop()
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(runs, "summarise_transfer", measured)
        world = runs.large(shards, 40, failures)
    return peaks, world


def test_a_shard_more_costs_a_little_and_its_entries_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    (few,), _ = peaks_of(monkeypatch, 200, 0, 100)
    (many,), world = peaks_of(monkeypatch, 800, 0, 100)
    assert (many - few) / 600 < BYTES_OF_A_SHARD
    assert world.ledger.read_json("summary.json")["totals"]["copied"]["entries"] == 800 * 40


def test_of_many_failures_only_one_file_is_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (all_at_once, few_at_once), world = peaks_of(monkeypatch, 800, 800, 100_000, 50)
    assert world.ledger.read_json("summary.json")["failures"] == 800
    files = [name for name in world.ledger.keys("failures") if name != "failures.jsonl"]
    assert len(files) == 800 // 50 - 1
    written = sum(len(world.ledger.read_bytes(name)) for name in files)
    # What is not held is at least the text of the files that are written already.
    assert few_at_once < all_at_once - written, (few_at_once, all_at_once, written)
