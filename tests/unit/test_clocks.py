"""Clocks that differ: what readings tell, and the margin that follows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.domain.clocks import Ahead, ahead_of, clocks_from_row, clocks_note, clocks_row, margin_ns
from fanout.domain.decisions import MARGIN_NS

SECOND = 10**9


@given(st.integers(-(10**4), 10**4), st.integers(0, 3 * SECOND), st.integers(0, SECOND), st.integers(0, SECOND))
def test_the_true_difference_lies_between(skew_seconds: int, now: int, there: int, back: int) -> None:
    """S3 tells whole seconds, and each answer takes its time."""
    skew = skew_seconds * SECOND
    asked = now + there
    seconds = asked - asked % SECOND
    ahead = ahead_of((now + skew,) * 2, (seconds, seconds + SECOND), (asked + back + skew,) * 2)
    assert ahead.least_ns <= skew <= ahead.most_ns
    assert clocks_from_row(clocks_row(ahead)) == ahead
    margin = margin_ns(ahead)
    assert margin >= MARGIN_NS
    if ahead.least_ns > 0:
        assert margin >= MARGIN_NS + skew
    else:
        assert margin == MARGIN_NS


@pytest.mark.parametrize(
    ("least", "most", "margin", "said"),
    [
        (-SECOND, SECOND, 1, ""),
        (1, SECOND + 2, 3, ""),
        (2 * SECOND, 3 * SECOND, 4, "2 s ahead of"),
        (-3 * SECOND, -2 * SECOND, 1, "2 s behind"),
        (3_600 * SECOND, 3_601 * SECOND, 3_602, "3,600 s ahead of"),
    ],
)
def test_only_a_destination_that_is_ahead_widens_the_margin(least: int, most: int, margin: int, said: str) -> None:
    ahead = Ahead(least, most)
    assert margin_ns(ahead) == margin * SECOND
    assert said in clocks_note(ahead) and bool(said) is bool(clocks_note(ahead))


def test_without_a_measurement_it_stays() -> None:
    assert margin_ns(None) == MARGIN_NS
