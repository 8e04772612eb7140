"""Copies that have to end by a time, on a simulated file system in simulated hours: planned, paced, met or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, most_credits, reserve_bytes
from fanout.efs.load import Work
from fanout.facts.units import MIB
from fanout.forecast.choosing.finish import Finish, Moments, decide_finish
from fanout.forecast.forecast import Forecast, forecast
from fanout.model.file_system import ThroughputMode
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout_cli.estimates.from_totals import idle_state
from tests.support.simulated_efs import GB, Simulation

PAGE = (Path(__file__).parents[2] / "docs/how-to/finish-by.md").read_text(encoding="utf-8")
HOUR = 3600.0
MOST, RESERVE = 40, 20.0
FILES, SIZE = 20_000, 2_000 * GB
# Bytes a second of one function, as the plan takes it.
RATE = 30 * MIB


def nobody(_now: float) -> float:
    """Nobody else uses the file system."""
    return 0.0


@dataclass(frozen=True)
class Case:
    """A copy of 2 TB by up to 40 functions, which are ``slower`` than planned; it has so many ``hours``.

    ``outcome`` is what becomes of it: refused, met, or missed.
    """

    hours: float
    outcome: str
    credits_percent: float | None = None
    slower: float = 1.0
    others: Callable[[float], float] = nobody


# docs/how-to/finish-by.md shows them.
CASES = {
    "as planned": Case(6.0, "met"),
    "functions take half as long again as planned": Case(1.6, "met", slower=1.5),
    "no plan is fast enough": Case(0.25, "refused"),
    "credits are too few": Case(6.0, "refused", credits_percent=25.0),
    "others take most of the throughput": Case(1.6, "missed", others=lambda _now: 800.0 * MIB),
}


def state_of(case: Case) -> FileSystemState:
    """A file system of 100 GB, with burst credits or of the mode Elastic."""
    if case.credits_percent is None:
        return idle_state(ThroughputMode.ELASTIC, 100 * GB)
    credits = most_credits(100 * GB) * case.credits_percent / 100
    return idle_state(ThroughputMode.BURSTING, 100 * GB, credits_bytes=credits)


def planned(case: Case) -> Finish:
    """The plan of the copy, whose time is all that counts here."""
    document = {"source": "s3://a-bucket/x/", "destination": "efs:///y"}
    request, rates = parse_request(document, ("data",), MOST), Rates(0.0, RATE)

    def predict(functions: int, shard_seconds: float, states: Mapping[str, FileSystemState]) -> tuple[Forecast, float]:
        shards = int(SIZE / RATE / shard_seconds)
        work = Work(FILES, FILES, SIZE, shards, shard_seconds)
        found = forecast(request, work, rates, states, functions_at_most=functions)
        return found, found.seconds["copy"]

    return decide_finish(Moments("6h", 0.0, 0.0, case.hours * HOUR), MOST, [60.0], predict, {"data": state_of(case)})


def simulated(case: Case, plan: Finish, *, paced: bool = True) -> Simulation:
    """The copy with the functions of the plan."""
    return Simulation(
        mode=ThroughputMode.ELASTIC if case.credits_percent is None else ThroughputMode.BURSTING,
        credits_percent=case.credits_percent or 0.0,
        todo=SIZE,
        others=case.others,
        most=MOST if paced else plan.functions,
        planned=plan.functions,
        reserve_percent=RESERVE,
        copied_by=case.hours * HOUR,
        function_rate=RATE / case.slower,
    )


@pytest.mark.parametrize("name", CASES)
def test_a_copy_with_a_time_to_end_by_is_met_or_refused_and_one_that_others_slow_down_is_missed(name: str) -> None:
    case = CASES[name]
    plan = planned(case)
    if case.outcome == "refused":
        assert plan.functions == 0
        assert f"| {name} | {case.hours:g} h | refused, nearest `{plan.nearest}` | | |" in PAGE
        return
    assert 0 < plan.functions <= MOST and plan.predicted_seconds <= plan.seconds_left
    copy = simulated(case, plan)
    took = copy.run()
    predicted = f"{plan.predicted_seconds / HOUR:.2f} h, {plan.functions} functions"
    most = max(functions for _, _, functions, _ in copy.trace)
    assert f"| {name} | {case.hours:g} h | {case.outcome} | {predicted} | {took / HOUR:.2f} h, up to {most} |" in PAGE
    assert (took <= case.hours * HOUR) is (case.outcome == "met")
    assert all(functions <= MOST for _, _, functions, _ in copy.trace)


def test_without_the_pacing_a_copy_that_is_slower_than_planned_is_late() -> None:
    case = CASES["functions take half as long again as planned"]
    plan = planned(case)
    assert simulated(case, plan, paced=False).run() > case.hours * HOUR
    assert simulated(case, plan).run() <= case.hours * HOUR


def test_a_copy_that_is_in_time_keeps_the_functions_of_its_plan() -> None:
    case = CASES["as planned"]
    plan = planned(case)
    copy = simulated(case, plan)
    copy.run()
    assert {functions for _, _, functions, _ in copy.trace} == {plan.functions}


def test_the_reserve_of_credits_stays_however_late_a_copy_is() -> None:
    case = Case(60.0, "missed", credits_percent=60.0, slower=1.0)
    plan = planned(case)
    copy = simulated(case, replace(plan, functions=max(1, plan.functions)))
    copy.copied_by = HOUR
    copy.run(hours=60)
    assert copy.lowest >= reserve_bytes(copy.state, RESERVE) * 0.9
