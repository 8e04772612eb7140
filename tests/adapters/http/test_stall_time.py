"""When a stall is seen: libcurl's rate shows one five seconds late, and the time-out holds all the same."""

from __future__ import annotations

import pytest

from fanout.adapters.http.transport import Timeouts


@pytest.mark.parametrize(("stall_seconds", "told"), [(30, 25), (9, 4), (5, 1), (1, 1)])
def test_libcurl_is_told_less_by_the_time_that_its_rate_looks_back(stall_seconds: int, told: int) -> None:
    assert Timeouts(stall_seconds=stall_seconds).slow_seconds == told
