"""Predicted beside actual seconds of shards, and how uneven they were."""

from __future__ import annotations

import pytest

from fanout.model.books import Books
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.summary.summary import Summary, summary_row
from tests.support.flow import World


def shards_of(seconds: list[float]) -> Json:
    summary = Summary("r", "s", "d", Books(), {}, len(seconds), 1.0, 0, True, shard_seconds=seconds)
    shards: Json = summary_row(summary)["shards"]
    return shards


def test_the_imbalance_is_the_longest_over_the_mean() -> None:
    assert shards_of([10.0, 20.0, 30.0])["imbalance"] == pytest.approx(1.5)
    assert shards_of([7.0, 7.0])["imbalance"] == pytest.approx(1.0)
    assert shards_of([])["imbalance"] is None


def test_the_summary_says_what_the_shards_took() -> None:
    world = World()
    for number in range(20):
        world.source.put(f"{number}", Kind.FILE, b"x")  # type: ignore[attr-defined]
    world.clock.step = 0.5  # each look at the clock
    shards = world.run()["shards"]
    assert shards["count"] == 1
    assert shards["actual_seconds"] >= 10.0
    assert shards["imbalance"] == 1.0
