"""The budget of a self-test: summed from estimates before anything is made, and kept while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanout.facts.prices import PRICES
from fanout.forecast.forecast import Forecast
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout_cli.arguments import DEFAULT_MOUNT
from fanout_cli.command_error import CommandError
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state
from fanout_cli.selftest.cases import Case, SelftestPlace, removal_requests

PUT_DOLLARS = PRICES["s3_put"].dollars
# Stays back for what a forecast leaves out, such as tasks that are retried.
MARGIN = 1.5
STACK_CONCURRENCY = 100


@dataclass(frozen=True, slots=True)
class Expected:
    """A case on paper."""

    seconds: float
    dollars: float


def expect(case: Case) -> Expected:
    """A case's seconds and dollars on paper, with the requests that make its data set."""
    found = _estimate(case.request, case.entries, case.bytes, case.extras)
    again = 2 if case.killed else 1
    return Expected(sum(found.seconds.values()) * again, found.dollars.total * again + case.puts * PUT_DOLLARS)


def expect_removal(place: SelftestPlace, cases: Sequence[Case]) -> float:
    """The dollars of the sync that removes everything from EFS."""
    _, sync = removal_requests(place)
    return _estimate(sync, 1, 0, sum(case.entries for case in cases)).dollars.total


def _estimate(request: Mapping[str, Any], entries: int, size: int, extras: int) -> Forecast:
    parsed = parse_request(request, (DEFAULT_MOUNT,), STACK_CONCURRENCY)
    state = idle_state(ThroughputMode.ELASTIC)
    return estimate(parsed, EstimateFacts(entries, size, 0, extras, {DEFAULT_MOUNT: state}, {}))


@dataclass
class SelftestBudget:
    """The dollars that may be spent; ``reserved`` are kept for the removal."""

    dollars: float
    reserved: float = 0.0
    spent: float = 0.0

    def require(self, expected: Sequence[Expected]) -> float:
        """The sum of all cases. Raises ``CommandError`` if it is over the budget."""
        total = sum(one.dollars for one in expected) * MARGIN + self.reserved
        if total > self.dollars:
            raise CommandError(
                f"the self-test may cost ${total:,.2f}, over the budget of ${self.dollars:,.2f}; "
                "raise --budget-dollars, or take --size small"
            )
        return total

    def allows(self, expected: Expected) -> bool:
        """Whether a case can be paid for after what was spent and what the removal needs."""
        return self.spent + expected.dollars * MARGIN + self.reserved <= self.dollars
