"""Predicted beside actual seconds of shards, and how uneven they were."""

from __future__ import annotations

import pytest

from fanout.books.ending import shards_done
from fanout.model.entry import Kind
from tests.support.flow import World


def imbalance(*seconds: float) -> float | None:
    return shards_done(len(seconds), 1.0, seconds).imbalance


def test_the_imbalance_is_the_longest_over_the_mean() -> None:
    assert imbalance(10.0, 20.0, 30.0) == pytest.approx(1.5)
    assert imbalance(7.0, 7.0) == pytest.approx(1.0)
    assert imbalance() is None


def test_the_summary_says_what_the_shards_took() -> None:
    world = World()
    for number in range(20):
        world.source.put(f"{number}", Kind.FILE, b"x")  # type: ignore[attr-defined]
    world.clock.step = 0.5  # each look at the clock
    shards = world.run()["shards"]
    assert shards["count"] == 1
    assert shards["actual_seconds"] >= 10.0
    assert shards["imbalance"] == 1.0
