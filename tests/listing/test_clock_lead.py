"""Clocks that differ: what readings tell, and the margin that follows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from fanout.listing.deciding.clock_lead import Ahead, Clocks, ahead_of, clocks_note, wider_ns

SECOND = 10**9


@given(st.integers(-(10**4), 10**4), st.integers(0, 3 * SECOND), st.integers(0, SECOND), st.integers(0, SECOND))
def test_the_true_difference_lies_between(skew_seconds: int, now: int, there: int, back: int) -> None:
    """S3 tells whole seconds, and each answer takes its time."""
    skew = skew_seconds * SECOND
    asked = now + there
    seconds = asked - asked % SECOND
    ahead = ahead_of((now + skew,) * 2, (seconds, seconds + SECOND), (asked + back + skew,) * 2)
    assert ahead.least_ns <= skew <= ahead.most_ns
    assert convert(to_builtins(Clocks(ahead, Ahead(-1, 1))), Clocks) == Clocks(ahead, Ahead(-1, 1))
    assert wider_ns(ahead) >= (skew if ahead.least_ns > 0 else 0)
    assert bool(wider_ns(ahead)) is (ahead.least_ns > 0)


@pytest.mark.parametrize(
    ("least", "most", "wider", "said"),
    [
        (-SECOND, SECOND, 0, ""),
        (1, SECOND + 2, 2, ""),
        (2 * SECOND, 3 * SECOND, 3, "2 s ahead of"),
        (-3 * SECOND, -2 * SECOND, 0, "2 s behind"),
        (3_600 * SECOND, 3_601 * SECOND, 3_601, "3,600 s ahead of"),
    ],
)
def test_only_a_destination_that_is_ahead_widens_the_margin(least: int, most: int, wider: int, said: str) -> None:
    ahead = Ahead(least, most)
    assert wider_ns(ahead) == wider * SECOND
    assert said in clocks_note(ahead) and bool(said) is bool(clocks_note(ahead))
