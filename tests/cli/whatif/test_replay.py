"""The simulation of a run's shards by itself: starts, waits, shared bounds, credits."""

from __future__ import annotations

import pytest

from fanout.efs.capacity import FileSystemState, baseline
from fanout.facts.aws import MAP_CHILDREN_PER_SECOND
from fanout.model.books import Count
from fanout.model.file_system import ThroughputMode
from fanout.shards.tasks.attempt import Attempt, AttemptEnd
from fanout_cli.estimates.from_totals import idle_state
from fanout_cli.estimates.whatif.bounds import Bound, CreditBound, TimedBound
from fanout_cli.estimates.whatif.recorded import most_at_once, seconds_between, tasks_of
from fanout_cli.estimates.whatif.replay import Job, replay

GB = 10**9


def job(seconds: float, units: float = 0.0, wait: float = 0.0) -> Job:
    """A shard; one that waits has two attempts."""
    half = seconds / 2
    spans = ((0.0, half), (half + wait, seconds + wait)) if wait else ((0.0, seconds),)
    return Job(spans, seconds, {"bound": units})


def test_functions_take_the_next_shard_and_the_last_one_ends_the_copy() -> None:
    found = replay([job(30), job(20), job(10)], 2, [])
    assert found.seconds == pytest.approx(30, abs=0.1) and found.function_seconds == pytest.approx(60)
    assert replay([job(30), job(20), job(10)], 1, [], between=5).seconds == pytest.approx(70)


def test_so_many_start_a_second() -> None:
    jobs = [job(1)] * (10 * MAP_CHILDREN_PER_SECOND)
    assert replay(jobs, len(jobs), []).seconds == pytest.approx(11, abs=0.1)


def test_a_shared_bound_slows_all_and_is_named() -> None:
    jobs = [job(10, units=100)] * 8
    assert replay(jobs, 4, [Bound("bound", 40)]).seconds == pytest.approx(20, abs=0.1)
    found = replay(jobs, 8, [Bound("bound", 40)])
    assert found.seconds == pytest.approx(20, abs=0.1) and found.bound_seconds["bound"] > 15
    assert found.function_seconds == pytest.approx(160, rel=0.02)


def test_a_shard_that_waits_keeps_its_place_and_uses_nothing() -> None:
    found = replay([job(10, wait=60), job(10)], 1, [])
    assert found.seconds == pytest.approx(80) and found.function_seconds == pytest.approx(20)


def test_a_rate_that_changes_holds_from_its_time_on() -> None:
    # 10 a second for 60 s, then nothing binds: 600 of 1,200 units are left, at 100 a second.
    found = replay([job(12, units=1_200)], 1, [TimedBound("bound", [(0.0, 10.0), (60.0, None)])])
    assert 60 < found.seconds < 140


def test_credits_are_spent_down_to_the_baseline() -> None:
    state: FileSystemState = idle_state(ThroughputMode.BURSTING, 1_000 * GB, credits_bytes=20.0 * GB)
    bound = CreditBound("bound", state, 100.0 * GB, 0.0)
    found = replay([job(100, units=100.0 * GB)], 1, [bound])
    assert 0 <= found.credits["bound"] < 20 * GB and found.bound_seconds["bound"] == pytest.approx(found.seconds)
    assert found.seconds <= 100 * GB / baseline(1_000 * GB)


def test_attempts_are_one_task_a_shard_and_a_lost_one_ends_where_the_next_begins() -> None:
    lost = Attempt("a", "n1", 0.0)
    again = Attempt("a", "n2", 30.0, 50.0, 5, 500, 5, AttemptEnd.DONE)
    other = Attempt("b", "n3", 10.0, 40.0, 1, 100, 1, AttemptEnd.DONE)
    later = Attempt("c", "n4", 52.0, 60.0, 1, 100, 1, AttemptEnd.DONE)
    never = Attempt("d", "n5", 55.0)
    found = tasks_of([("a", [lost, again]), ("b", [other]), ("c", [later]), ("d", [never])])
    assert [one.spans for one in found] == [
        ((0.0, 30.0), (30.0, 50.0)),
        ((10.0, 40.0),),
        ((52.0, 60.0),),
        ((55.0, 55.0),),
    ]
    assert found[0].worked == Count(5, 500)
    assert most_at_once(found) == 2 and seconds_between(found, 2) == (12.0 + 5.0) / 2
