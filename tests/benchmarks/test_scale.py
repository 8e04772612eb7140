"""The model of scale: quotas are kept up to a billion entries, and docs/understand/limits.md says what it does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks import scale
from fanout.facts import aws
from fanout.listing.gather_segments import ROUNDS


@pytest.mark.parametrize("entries", scale.SIZES)
def test_every_quota_is_kept(entries: int) -> None:
    assert [check for check in scale.checks(scale.walk(entries)) if not check.holds] == []


def test_a_quota_that_is_not_kept_shows() -> None:
    run = replace(scale.walk(scale.SIZES[-1]), events=int(aws.HISTORY_EVENTS) + 1)
    assert [check.what for check in scale.checks(run) if not check.holds] == ["events of the execution's history"]


def test_the_page_is_what_the_model_says() -> None:
    assert scale.DOCUMENT.read_text(encoding="utf-8") == scale.document()


def test_the_most_rounds_fit_into_one_execution() -> None:
    assert aws.HISTORY_EVENTS >= scale.EVENTS_AROUND + scale.EVENTS_A_ROUND * ROUNDS


def test_more_entries_take_more() -> None:
    runs = [scale.walk(size) for size in scale.SIZES]
    for smaller, larger in pairwise(runs):
        assert smaller.rounds <= larger.rounds
        assert smaller.shards < larger.shards and smaller.dollars < larger.dollars
        pairs = zip(scale.checks(smaller), scale.checks(larger), strict=True)
        assert [one.what for one, other in pairs if one.needed > other.needed] == []


def test_a_tree_that_one_function_lists_in_seconds_takes_one_round() -> None:
    assert (scale.walk(50_000).rounds, scale.walk(50_000).segments) == (1, 1)


def test_finishing_takes_no_longer_than_copying() -> None:
    for size in scale.SIZES:
        run = scale.walk(size)
        assert run.finish.seconds <= run.copy_seconds


def test_a_hundred_million_entries_take_less_than_45_minutes() -> None:
    assert scale.walk(100_000_000).seconds < 45 * 60


def test_finishing_is_walked_round_by_round() -> None:
    small, large = scale.walk(100_000), scale.walk(1_000_000_000)
    assert (small.finish.rounds, small.finish.shards) == (0, 0)
    assert large.finish.rounds == 2
    rounds = scale.EVENTS_A_ROUND * (large.rounds - small.rounds)
    assert large.events - small.events == rounds + large.finish.events - small.finish.events
