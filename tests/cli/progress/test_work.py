"""How far shards are, how fast, and how long they still take: literal sequences of notes, and simulated runs."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.model.books import Count
from fanout.shards.tasks.attempt import Attempt, AttemptEnd
from fanout_cli.progress.work import LEAST_SHARE, ShardsAtWork
from tests.cli.progress.runs import RATES, Simulated, note, shard

TWO = [shard("a", 100), shard("b", 100)]


def test_what_was_noted_is_done_and_what_has_gone_on_since_is_estimated() -> None:
    work = ShardsAtWork(TWO, RATES)
    work.take(0.0, [Attempt("a", "n-a", 1_000.0)])
    work.take(10.0, [note("a", 1_000.0, 1_010.0, 20)])
    found = work.progress(15.0)
    assert found.done == Count(20, 0)
    assert found.share == pytest.approx(0.1)
    assert found.estimated.entries == pytest.approx(30)
    assert found.entries_per_second == pytest.approx(2.0)
    assert (found.tasks, found.shards, found.total_shards) == (1, 0, 2)
    assert found.eta_seconds == pytest.approx(85.0)


def test_below_5_percent_nobody_knows_how_long_it_takes() -> None:
    work = ShardsAtWork([shard("a", 1_000)], RATES)
    work.take(0.0, [Attempt("a", "n-a", 0.0)])
    for at, entries, is_told in ((10.0, 10, False), (20.0, 20, False), (30.0, 45, False), (40.0, 80, True)):
        work.take(at, [note("a", 0.0, at, entries)])
        found = work.progress(at)
        assert (found.eta_seconds is not None) is is_told
        assert is_told == (found.share >= LEAST_SHARE)


def test_before_any_note_there_is_neither_rate_nor_time_left() -> None:
    work = ShardsAtWork(TWO, RATES)
    work.take(0.0, [Attempt("a", "n-a", 0.0)])
    found = work.progress(3.0)
    assert (found.eta_seconds, found.entries_per_second, found.share, found.tasks) == (None, None, 0.0, 1)


def test_tasks_that_have_stood_still_for_long_leave_no_time_to_tell() -> None:
    work = ShardsAtWork([shard("a", 100)], RATES)
    work.take(10.0, [note("a", 0.0, 10.0, 50)])
    for at in (20.0, 40.0, 60.0, 80.0, 100.0):
        found = work.progress(at)
    assert (found.eta_seconds, found.tasks) == (None, 0)
    assert found.done == Count(50, 0)


def test_what_is_done_has_no_time_left() -> None:
    work = ShardsAtWork(TWO, RATES)
    work.take(50.0, [note(one, 0.0, 50.0, 100, end=AttemptEnd.DONE) for one in ("a", "b")])
    found = work.progress(51.0)
    assert (found.share, found.eta_seconds, found.shards, found.tasks) == (1.0, 0.0, 2, 0)


def test_the_last_shard_is_waited_for_though_the_others_make_the_rate() -> None:
    """Two of three shards are three quarters done, by two functions; the third one begins when they have ended."""
    work = ShardsAtWork([shard(name, 100) for name in "abc"], RATES)
    for at in (10.0, 20.0, 30.0):
        work.take(at, [note(name, 0.0, at, int(2.5 * at)) for name in "ab"])
        found = work.progress(at, running=2)
    assert found.eta_seconds == pytest.approx(10 + 40, rel=0.05)


def test_a_task_that_runs_twice_counts_once() -> None:
    work = ShardsAtWork(TWO, RATES)
    first, second = note("a", 0.0, 10.0, 60), replace(note("a", 1.0, 10.0, 40), nonce="other")
    work.take(10.0, [first, second])
    assert work.progress(10.0).done == Count(60, 0)
    work.take(20.0, [replace(second, ended=20.0, entries=100, cursor=100, end=AttemptEnd.DONE)])
    work.take(21.0, [replace(first, ended=21.0, entries=90, cursor=90)])
    assert work.progress(21.0).done == Count(100, 0)


def test_a_handed_back_tail_goes_on_where_it_ended() -> None:
    work = ShardsAtWork([shard("a", 100, 1_000)], RATES)
    work.take(10.0, [note("a", 0.0, 10.0, 60, 600, end=AttemptEnd.HANDED_BACK)])
    work.take(20.0, [replace(note("a", 11.0, 20.0, 30, 300, cursor=90), nonce="next")])
    assert work.progress(20.0).done == Count(90, 900)


def test_a_part_of_a_big_file_counts_bytes_and_no_entry() -> None:
    work = ShardsAtWork([shard("big-0000", 0, 8_000_000, (0, 8))], RATES)
    work.take(10.0, [note("big-0000", 0.0, 10.0, 4, 4_000_000)])
    found = work.progress(10.0)
    assert (found.done, found.total) == (Count(0, 4_000_000), Count(0, 8_000_000))
    assert found.share == pytest.approx(0.5)
    assert found.bytes_per_second == pytest.approx(400_000)


def test_failures_are_added_up_by_reason_over_tasks_at_work_and_ended() -> None:
    work = ShardsAtWork(TWO, RATES)
    lost = note("a", 0.0, 20.0, 90, failures={"SOURCE_CHANGED": 2}, end=AttemptEnd.HANDED_BACK)
    work.take(20.0, [lost, note("b", 0.0, 20.0, 50, failures={"SOURCE_CHANGED": 1, "CHECKSUM": 4})])
    assert work.progress(20.0).failures == {"SOURCE_CHANGED": 3, "CHECKSUM": 4}
    done = replace(note("a", 21.0, 30.0, 10, cursor=100, end=AttemptEnd.DONE, failures={"CHECKSUM": 1}), nonce="next")
    work.take(30.0, [done, lost])
    assert work.progress(30.0).failures == {"SOURCE_CHANGED": 3, "CHECKSUM": 5}


def test_notes_of_shards_that_are_not_known_count_nowhere() -> None:
    work = ShardsAtWork(TWO, RATES)
    work.take(10.0, [note("elsewhere", 0.0, 10.0, 1_000_000)])
    assert work.progress(10.0).done == Count(0, 0)


def steady(_second: float) -> float:
    return 20.0


def slow_at_first(second: float) -> float:
    """Connections are opened, threads are added, caches fill."""
    return min(20.0, 4.0 + 3.0 * second)


def uneven(second: float) -> float:
    return 30.0 if int(second / 7) % 2 else 12.0


def throttled_later(second: float) -> float:
    return 24.0 if second < 20 else 16.0


SPEEDS = [steady, slow_at_first, uneven, throttled_later]
SHARDS = [
    ([20_000 // 16] * 16, 10),  # 20,000 files
    ([20_000 // 40] * 40, 40),
    ([20_000 // 3] * 3, 2),
    ([1_200, 1_100, 900, 700, 400, 300, 200, 100], 3),
    ([2_000], 1),
]


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize(("entries", "functions"), SHARDS)
@pytest.mark.parametrize("look_seconds", [1.0, 5.0])
def test_at_half_of_a_run_the_time_left_is_right_within_30_percent(
    speed: Callable[[float], float], entries: list[int], functions: int, look_seconds: float
) -> None:
    run = Simulated([shard(f"s{number:03d}", one, one * 50) for number, one in enumerate(entries)], functions, speed)
    assert run.error_at(0.5, look_seconds) < 0.3


def test_a_watcher_who_comes_late_is_told_as_well() -> None:
    run = Simulated([shard(f"s{number}", 600) for number in range(12)], 3, steady)
    assert run.error_at(0.5, since=run.ended * 0.45) < 0.3


@pytest.mark.parametrize("behind", [3.0, 7_200.0, 1e9])
def test_clocks_that_differ_change_nothing(behind: float) -> None:
    shards = [shard(f"s{number}", 600) for number in range(6)]
    here, there = Simulated(shards, 3, steady), Simulated(shards, 3, steady, behind)
    told = [[found.eta_seconds for _, found in run.over_time()] for run in (here, there)]
    assert [one is None for one in told[0]] == [one is None for one in told[1]]
    pairs = [(one, other) for one, other in zip(*told, strict=True) if one is not None]
    assert all(one == pytest.approx(other, abs=0.5) for one, other in pairs)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_in_any_order_and_any_number_of_times_notes_say_the_same(seed: int, functions: int) -> None:
    run = Simulated([shard(f"s{number}", 150, 1_000) for number in range(7)], functions, steady)
    drawn = random.Random(seed)
    written = [one for _, one in run.written]
    drawn.shuffle(written)
    work = ShardsAtWork(run.shards, RATES)
    for one in written:
        work.take(run.ended, [one, drawn.choice(written)])
        found = work.progress(run.ended)
        assert 0.0 <= found.share <= 1.0
        assert found.eta_seconds is None or found.eta_seconds >= 0
    assert work.progress(run.ended).done == Count(7 * 150, 7 * 1_000)
