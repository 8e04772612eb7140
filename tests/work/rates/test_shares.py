"""The shares of functions add up to the rate of the run, whenever they begin, end and look."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.ledger import Ledger
from fanout.work.rates import throttle
from fanout.work.rates.shares import Bucket, Presence, entitled
from fanout.work.rates.throttle import Throttle
from tests.support.memory_store import MemoryStore
from tests.work.rates.functions_at_work import simulate

TIMES = st.integers(0, 300).map(float)
SPANS = st.tuples(TIMES, TIMES).map(sorted)


@st.composite
def crews(draw: st.DrawFn) -> list[Presence]:
    """Functions that begin and end at any time."""
    spans = draw(st.lists(SPANS, min_size=1, max_size=8))
    return [Presence(began, f"n{number}", ended) for number, (began, ended) in enumerate(spans)]


@given(crews(), st.floats(1, 1e9), st.sampled_from([1, 2, 5, inf]))
def test_what_all_are_entitled_to_is_the_rate_while_any_works(crew: list[Presence], rate: float, most: float) -> None:
    total = sum(entitled(rate, crew, one, one.began, one.ended, most) for one in crew if one.ended > one.began)
    seconds = [second for second in range(300) if any(one.began <= second < one.ended for one in crew)]
    assert total == pytest.approx(rate * len(seconds), rel=1e-6)


@given(crews(), st.data())
def test_what_is_learned_late_changes_nothing_in_the_end(crew: list[Presence], data: st.DataObject) -> None:
    """A bucket that hears of the others only after some seconds ends where one that knew all from the begin does."""
    me = Presence(0.0, "me")
    late = Bucket(me, 100.0, 0.0, keep_seconds=inf)
    for now in range(5, 330, 5):
        seen = [
            Presence(one.began, one.name, one.ended if one.ended <= now else inf) for one in crew if one.began <= now
        ]
        late.learn(seen, float(now), hindsight_seconds=30.0)
    assert late.level(325.0) == pytest.approx(entitled(100.0, crew, me, 0.0, 325.0), abs=1e-6)


def test_no_more_than_there_is_can_be_taken() -> None:
    bucket = Bucket(Presence(0.0, "me"), 10.0, 0.0)
    assert not bucket.take(11.0, 1.0)
    assert bucket.take(10.0, 1.0)
    assert not bucket.take(0.1, 1.0)
    assert bucket.seconds_until(5.0, 1.0) == pytest.approx(0.5)


def test_what_lies_unused_is_lost() -> None:
    bucket = Bucket(Presence(0.0, "me"), 10.0, 0.0, keep_seconds=5.0)
    assert bucket.take(1.0, 1000.0)
    assert bucket.level(1000.0) == pytest.approx(49.0)


def test_those_over_the_number_that_share_get_nothing() -> None:
    crew = [Presence(0.0, "a"), Presence(1.0, "b"), Presence(2.0, "c")]
    assert [entitled(90.0, crew, one, 10.0, 11.0, 2) for one in crew] == [45.0, 45.0, 0.0]


@dataclass
class Case:
    """Functions that begin and end at random: how many at once, how long each works."""

    name: str
    crew: int
    seconds: tuple[float, float]
    gap: tuple[float, float]
    rate: float = 100e6
    seed: int = 1
    block: int = 8 << 20
    file_bytes: int = 100 << 20
    expected: float = field(default=0.10)


CASES = [
    Case("two that last", 2, (500, 500), (0, 0)),
    Case("sometimes one and sometimes four", 4, (60, 200), (0, 20)),
    Case("twenty for about a minute each", 20, (30, 90), (0, 3)),
    Case("fifty for minutes", 50, (60, 200), (0, 5), rate=400e6),
    Case("forty with small files", 40, (20, 80), (0, 2), rate=200e6, block=1 << 20, file_bytes=1 << 20),
    Case("more than share it", 12, (60, 120), (0, 3), rate=20e6),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sum_keeps_within_a_tenth_over_every_minute(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "PAUSE_SECONDS", 0.5)
    used = simulate(case, random.Random(case.seed), seconds=300)
    windows = [sum(used[start : start + 60]) / 60 for start in range(60, 240, 5)]
    assert max(windows) <= case.rate * (1 + case.expected)
    assert min(windows) >= case.rate * (1 - case.expected)


class SideBySide(MemoryStore):
    """Answers two questions when both are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Barrier(2)

    def get(self, key: str) -> bytes:
        self.asked.wait(10)
        return super().get(key)


def test_the_limits_and_the_rate_of_the_pacing_are_asked_side_by_side() -> None:
    limiter = Throttle("copy", Ledger(SideBySide(), "run"), "me", time.time, time.sleep)
    assert not limiter.holds()
    assert limiter.problem == ""
