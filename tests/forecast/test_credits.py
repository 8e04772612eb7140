"""Burst credits in the forecast: what is held back for the reserve, what would be without, and what pacing does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, baseline, most_credits, reserve_bytes
from fanout.efs.load import Work
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts.units import GIB, MIB
from fanout.forecast.copying import Limit
from fanout.forecast.credits import paced_drains
from fanout.forecast.document import ForecastCredits, forecast_document
from fanout.forecast.forecast import Forecast, forecast
from fanout.model.file_system import ThroughputMode
from fanout.pacing.rule import Observed
from fanout.request.parse import parse_request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state
from tests.support.simulated_efs import GB, Simulation

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
BASELINE = baseline(100 * GIB)


def bursting(credits: float) -> FileSystemState:
    return idle_state(ThroughputMode.BURSTING, 100 * GIB, credits_bytes=credits * GIB)


def predicted(size: int, credits: float, mode: str = "copy", **limits: float) -> Forecast:
    document = {"source": "s3://my-data/in/", "destination": "efs:///copy", "mode": mode, "limits": limits}
    return estimate(
        parse_request(document, ("data",), 100), EstimateFacts(1000, size, states={"data": bursting(credits)})
    )


def row_of(found: Forecast) -> ForecastCredits:
    credits = forecast_document(found, NOON).file_systems[0].credits
    assert credits is not None
    return credits


def test_credits_that_would_run_out_are_held_to_the_reserve() -> None:
    found = predicted(1000 * GIB, credits=800)
    credits = found.credits["data"]
    assert credits.is_held and credits.drain.empty_share is None
    assert credits.reserve <= credits.drain.credits_end <= 1.06 * credits.reserve  # balances are three minutes old
    # What is earned in the time and the 370 GiB above the reserve are all that there is.
    assert found.seconds["copy"] == pytest.approx((1000 - 370) * GIB / BASELINE, rel=0.04)
    assert found.binding is Limit.FILE_SYSTEM
    # All functions together burst at 100 MiB/s, and lose 95.1 of it.
    assert credits.unheld.empty_seconds == pytest.approx(800 * GIB / (100 * MIB - BASELINE), rel=1e-6)
    row = row_of(found)
    assert row.held_bytes_per_second == pytest.approx(1000 * GIB / credits.drain.seconds, rel=1e-4)
    assert row.runs_out_share is None and row.unheld.runs_out_share == pytest.approx(0.8411, abs=1e-3)
    assert row.unheld.runs_out_at == "2026-11-21T14:23:32Z"
    assert row.sentence == (
        f"held to {credits.bytes_per_second / MIB:.1f} MiB/s so that the reserve of 20% lasts: "
        f"{credits.drain.credits_end / GIB:.1f} GiB of 800.0 GiB are left at the end; "
        "unheld: run out after 84% at 14:23 UTC"
    )


def test_below_the_reserve_none_are_spent() -> None:
    found = predicted(1000 * GIB, credits=100)
    assert found.credits["data"].drain.credits_end == pytest.approx(100 * GIB)
    assert found.seconds["copy"] == pytest.approx(1000 * GIB / BASELINE, rel=0.01)
    said = row_of(found).sentence
    assert said.startswith("held to 4.9 MiB/s so that the reserve of 20% is not spent: 100.0 GiB of 100.0 GiB are left")
    assert "below the reserve of 430.1 GiB; unheld: run out after 11% at 12:" in said


def test_credits_that_last_hold_nothing_back() -> None:
    found = predicted(GIB, credits=2000)
    row = row_of(found)
    assert (row.held_bytes_per_second, row.runs_out_share, row.unheld.runs_out_at) == (None, None, None)
    assert row.sentence.endswith("GiB of 2,000.0 GiB are left at the end")


def test_a_day_later_the_date_is_said_too() -> None:
    found = predicted(20_000 * GIB, credits=2000, credit_reserve_percent=0, bytes_per_second=20 * MIB)
    assert "unheld: run out after 13% at 2026-11-23 0" in row_of(found).sentence
    gentle = predicted(1000 * GIB, credits=800, bytes_per_second=2 * MIB)
    assert not gentle.credits["data"].is_held
    assert gentle.credits["data"].drain.credits_end == pytest.approx(gentle.credits["data"].unheld.credits_end)


def test_a_file_system_without_credits_recovers_first() -> None:
    """The rate of the begin is 1 MiB/s; with that a balance builds up, and with it what is earned may be used."""
    found = predicted(1000 * GIB, credits=0)
    assert 1000 * GIB / BASELINE < found.seconds["copy"] < 1.1 * 1000 * GIB / BASELINE


def test_a_single_shard_and_a_comparison_keep_the_rate_of_the_begin() -> None:
    asked = parse_request({"source": "s3://my-data/in/", "destination": "efs:///copy"}, ("data",), 100)
    one = Work(10, 10, 4 * GIB, shards=1, longest_seconds=60)
    found = forecast(asked, one, DEFAULT_RATES, {"data": bursting(0)})
    assert found.limit_seconds[Limit.FILE_SYSTEM] == pytest.approx(4 * 1024, rel=0.01)
    compared = predicted(300 * GIB, credits=0, mode="verify")
    assert compared.limit_seconds[Limit.FILE_SYSTEM] == pytest.approx(100 * 1024, rel=0.01)


def test_the_slower_of_two_file_systems_sets_the_pace_of_both() -> None:
    full = idle_state(ThroughputMode.BURSTING, 100 * GIB)
    slow, fast = Observed("data", bursting(100), 1000.0 * GIB), Observed("archive", full, 1000.0 * GIB)
    drains = paced_drains([slow, fast], 0.0, 20.0)
    assert drains["archive"].seconds == drains["data"].seconds == pytest.approx(1000 * GIB / BASELINE, rel=0.01)
    assert drains["archive"].credits_end == pytest.approx(most_credits(0))


@settings(max_examples=20, deadline=None)
@given(credits=st.floats(2, 100), reserve=st.floats(0, 60), todo=st.integers(100, 3_000), lag=st.just(180.0))
def test_the_forecast_is_what_simulated_hours_of_pacing_take(
    credits: float, reserve: float, todo: int, lag: float
) -> None:
    """Within 6 %, or 12 minutes in which nothing is told yet, of what takes with 3 % more or fewer credits.

    Where the credits just suffice, a few less make hours of it.
    """

    def simulated(share: float) -> Simulation:
        return Simulation(
            credits_percent=credits * share, reserve_percent=reserve, lag=lag, todo=todo * GB, planned=100
        )

    begun = simulated(1.0)
    seen = Observed("data", begun.state, float(todo * GB), credits=begun.state.credits_bytes)
    (drain,) = paced_drains([seen], 0.0, reserve).values()
    took = [simulated(share).run(hours=10_000) for share in (0.97, 1.0, 1.03)]
    assert min(took) * 0.94 - 720 <= drain.seconds <= max(took) * 1.06 + 720


@given(st.floats(0, 2150), st.floats(0, 4.8), st.integers(1, 50_000), st.floats(0, 100), st.floats(0, 1e6))
def test_credits_are_never_driven_below_the_reserve_nor_the_run_below_its_own_time(
    credits: float, others: float, todo: int, percent: float, own: float
) -> None:
    state = replace(bursting(credits), others_bytes_per_second=others * MIB)
    (drain,) = paced_drains([Observed("data", state, float(todo * GIB), credits=credits * GIB)], own, percent).values()
    assert drain.seconds >= own * (1 - 1e-6)
    if others < 3.8:  # else the least rate of the pacing is more than others leave
        assert drain.credits_end >= min(credits * GIB, reserve_bytes(state, percent)) * 0.999 - 64 * MIB
