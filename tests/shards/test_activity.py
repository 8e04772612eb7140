"""What the tasks of a run did over time: nothing is lost in adding it up, and it stays small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.books.failures import SHOWN_IN_ALL, SHOWN_OF_A_CLASS, FailureClasses, failure_of
from fanout.model.books import Count
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.shards.sizes import Sizes, bucket_bounds
from fanout.shards.tasks.activity import LONGEST_SHOWN, TROUBLED_SHOWN, Activity
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_from_key, attempt_key

TIMES = st.integers(0, 10**12).map(lambda milliseconds: milliseconds / 1000)
BEGUN = st.builds(
    Attempt, st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True), st.text("0123456789abcdef", min_size=1), TIMES
)
COUNTS = st.integers(0, 2**60)
ENDED = st.builds(
    Attempt,
    st.just("shard"),
    st.just("n"),
    TIMES,
    TIMES,
    COUNTS,
    COUNTS,
    COUNTS,
    st.sampled_from([AttemptEnd.DONE, AttemptEnd.HANDED_BACK, AttemptEnd.FAILED]),
)


@given(BEGUN | ENDED)
def test_an_attempt_survives_its_key(attempt: Attempt) -> None:
    assert attempt_from_key(attempt_key("copy", attempt)) == attempt


@given(ENDED)
def test_the_record_of_the_end_sorts_right_after_that_of_the_begin(attempt: Attempt) -> None:
    begun = attempt_key("copy", Attempt(attempt.shard_id, attempt.nonce, attempt.began))
    assert attempt_key("copy", attempt).startswith(f"{begun}-")


SPANS = st.tuples(st.floats(0, 1000), st.floats(0, 1000), st.integers(0, 10**6), st.integers(0, 10**12))


@given(st.lists(SPANS, min_size=1, max_size=30))
def test_the_intervals_together_hold_what_the_attempts_did(spans: list[tuple[float, float, int, int]]) -> None:
    attempts = [Attempt(str(n), "n", a, a + b, e, size, e, AttemptEnd.DONE) for n, (a, b, e, size) in enumerate(spans)]
    ended = [attempt.ended for attempt in attempts if attempt.ended is not None]
    activity = Activity("copy", min(a.began for a in attempts), max(ended) + 1)
    for attempt in attempts:
        activity.add(attempt.shard_id, 1.0, [attempt])
    assert activity.worked == Count(sum(a.entries for a in attempts), sum(a.bytes for a in attempts))
    assert sum(i.entries for i in activity.intervals) == pytest.approx(activity.worked.entries)
    assert sum(i.bytes for i in activity.intervals) == pytest.approx(activity.worked.bytes)
    assert sum(i.busy_seconds for i in activity.intervals) == pytest.approx(activity.seconds, abs=1e-6)


def test_a_lost_attempt_and_its_retry_are_one_shard_in_trouble() -> None:
    activity = Activity("copy", 0, 100)
    activity.add("a", 10, [Attempt("a", "1", 0), Attempt("a", "2", 30, 45, 7, 70, 7, AttemptEnd.DONE)])
    activity.add("b", 10, [Attempt("b", "1", 0, 20, 5, 50, 5, AttemptEnd.DONE)])
    assert (activity.shards, activity.attempts, activity.seconds) == (2, 3, 35)
    assert activity.ends == {AttemptEnd.LOST: 1, AttemptEnd.DONE: 2}
    assert [shard.shard_id for shard in activity.shown() if shard.troubled] == ["a"]


def test_a_straggler_is_one_that_takes_twice_as_long_as_the_median_for_its_prediction() -> None:
    activity = Activity("copy", 0, 1000)
    for number in range(9):  # all three times as long as predicted, which is no straggling
        activity.add(f"{number}", 10 + number, [Attempt(f"{number}", "n", 0, 3 * (10 + number), end=AttemptEnd.DONE)])
    assert activity.stragglers == 0
    activity.add("late", 10, [Attempt("late", "n", 0, 70, end=AttemptEnd.DONE)])
    assert activity.stragglers == 1
    assert [shard.shard_id for shard in activity.shown() if activity.is_straggler(shard)] == ["late"]
    assert activity.median_ratio == pytest.approx(3, rel=0.1)


def test_a_hundred_thousand_shards_are_kept_as_few() -> None:
    activity = Activity("copy", 0, 100_000)
    for number in range(100_000):
        seconds = 20 + number * 7919 % 5000 / 100
        end = AttemptEnd.FAILED if number % 10 == 0 else AttemptEnd.DONE
        activity.add(f"{number}", 40, [Attempt(f"{number}", "n", number, number + seconds, 1, 1, 1, end)])
    shown = activity.shown()
    assert len(shown) <= LONGEST_SHOWN + TROUBLED_SHOWN
    assert max(shard.seconds for shard in shown) == pytest.approx(69.99)
    assert sum(shard.troubled for shard in shown) >= TROUBLED_SHOWN
    assert len(activity.pairs) < 100


@given(st.integers(0, 2**63))
def test_a_size_lies_in_its_bucket(size: int) -> None:
    sizes = Sizes()
    sizes.add(Entry("f", Kind.FILE, size))
    (bucket,) = sizes.buckets
    least, above = bucket_bounds(bucket)
    assert least <= size < above


@given(st.lists(st.lists(st.integers(0, 2**40), max_size=5), max_size=5))
def test_sizes_of_parts_merge_to_those_of_the_whole(parts: list[list[int]]) -> None:
    whole, merged = Sizes(), Sizes()
    for part in parts:
        counted = Sizes()
        for size in part:
            counted.add(Entry("f", Kind.FILE, size))
            whole.add(Entry("f", Kind.FILE, size))
        merged.merge(counted.row())
    assert merged == whole


def test_a_directory_has_no_size() -> None:
    sizes = Sizes()
    sizes.add(Entry("d/", Kind.DIRECTORY, 4096))
    assert sizes.buckets == {}


def test_failures_are_counted_all_and_shown_few_but_one_of_each_class() -> None:
    classes = FailureClasses()
    for number in range(10_000):
        outcome = Outcome(f"f{number}", "file", 3, Result.FAILED, list(Reason)[number % 8])
        classes.add(failure_of(outcome, "copy"))
    for reason in list(Reason)[8:]:
        classes.add(failure_of(Outcome("g", "file", 5, Result.REJECTED, reason), "list"))
    found = classes.most_first()
    assert sum(one.entries for one, _ in found) == 10_000 + len(Reason) - 8
    assert sum(one.bytes for one, _ in found) == 30_000 + 5 * (len(Reason) - 8)
    assert [one.entries for one, _ in found] == sorted((one.entries for one, _ in found), reverse=True)
    assert all(1 <= len(shown) <= SHOWN_OF_A_CLASS for _, shown in found)
    assert sum(len(shown) for _, shown in found) <= SHOWN_IN_ALL + len(found)
