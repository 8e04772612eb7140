"""How many functions a run may start at once in an account."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.request.parts.limits import most_functions


@pytest.mark.parametrize(
    ("unreserved", "most"), [(0, 1), (1, 1), (3, 1), (10, 8), (20, 18), (21, 18), (100, 90), (1_000, 900)]
)
def test_a_tenth_and_two_at_least_stay_for_others(unreserved: int, most: int) -> None:
    assert most_functions(unreserved) == most


@given(st.integers(0, 100_000))
def test_more_quota_is_never_fewer_functions_and_never_all_of_it(unreserved: int) -> None:
    most = most_functions(unreserved)
    assert 1 <= most <= max(1, unreserved - 2)
    assert most_functions(unreserved + 1) >= most
