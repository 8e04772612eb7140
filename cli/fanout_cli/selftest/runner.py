"""Runs the cases of a self-test one after the other and compares each with its forecast and its expectation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fanout.ledger.keys import SUMMARY
from fanout.ledger.run_places import run_prefix
from fanout.model.errors import FanoutError
from fanout_cli.command_error import CommandError, human_errors
from fanout_cli.runs.runs import describe_run, read_ledger, result_of_run, start_run, stop_run
from fanout_cli.runs.work_bucket import BucketStore
from fanout_cli.selftest.budget import PUT_DOLLARS, Expected, SelftestBudget, expect
from fanout_cli.selftest.cases import Case, SelftestPlace
from fanout_cli.selftest.cleanup import run_to_end
from fanout_cli.selftest.data_sets import DataSets, Say
from fanout_cli.stacks import Stack

STOPPED_SECONDS = 900
# An object that was written within a second before it is copied is not proven unchanged, and copied again by the next
# run (docs/understand/what-is-unchanged.md); the rest is for clocks that differ.
SETTLE_SECONDS = 2.0


@dataclass
class CaseRow:
    """The result of a case; ``estimate`` is the figure on paper, ``forecast`` the run's own."""

    name: str
    title: str
    status: str = "not run"
    entries: int = 0
    bytes: int = 0
    estimate: dict[str, float] = field(default_factory=dict)
    forecast: dict[str, float | None] = field(default_factory=dict)
    measured: dict[str, float | None] = field(default_factory=dict)
    differences: int | None = None
    problems: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The row as JSON."""
        return asdict(self)


class Runner:
    """Carries out cases on a stack."""

    def __init__(self, stack: Stack, place: SelftestPlace, data: DataSets, budget: SelftestBudget, say: Say) -> None:
        self._stack, self._place, self._data, self._budget, self._say = stack, place, data, budget, say

    def run(self, case: Case, row: CaseRow) -> None:
        """Carry out one case and fill its row. Problems go into the row."""
        expected = expect(case)
        row.estimate = {"seconds": round(expected.seconds, 1), "dollars": round(expected.dollars, 4)}
        if not self._budget.allows(expected):
            row.problems.append(f"not run: ${expected.dollars:,.2f} more could pass the budget")
            return
        row.status = "broken off"
        self._budget.spent += expected.dollars  # until it is known, also of a case that is broken off
        self._say(f"{case.title}: {case.entries:,} entries")
        try:
            with human_errors():
                self._carry_out(case, row, expected)
        except (CommandError, FanoutError) as error:
            row.status = "failed"
            row.problems.append(str(error))

    def _carry_out(self, case: Case, row: CaseRow, expected: Expected) -> None:
        if case.needs:
            self._data.make(case.needs)
            time.sleep(SETTLE_SECONDS)
        if case.drops:
            self._data.drop_some(case.drops)
        run_id, began = f"{self._place.name}-{case.name}", time.monotonic()
        start_run(self._stack, case.request, run_id)
        if case.killed:
            if not self._kill(run_id):
                row.problems.append("the run ended before it could be stopped: a retry was not shown")
            request = {"resume_from": run_id, "verify": "all"}
            run_id = start_run(self._stack, request, f"{run_id}-retry")
        run_to_end(self._stack, run_id)
        seconds = time.monotonic() - began
        result = result_of_run(self._stack, run_id, describe_run(self._stack, run_id))
        if result.exit_status:
            row.problems.append(result.error["message"] if result.error else f"{run_id}: {result.status}")
        summary = read_ledger(self._stack, run_id, SUMMARY)
        if summary is None:
            raise CommandError(row.problems.pop() if row.problems else f"{run_id} has no summary")
        fill(row, case, summary, seconds)
        # No ledger holds the cost of a stopped run, so it counts with its estimate.
        cost = row.measured["dollars"]
        if cost is not None and not case.killed:
            self._budget.spent += cost + case.puts * PUT_DOLLARS - expected.dollars

    def _kill(self, run_id: str) -> bool:
        """Stop the run once it has copied something; whether it still ran."""
        store = BucketStore(self._stack.client("s3"), self._stack.work_bucket)
        until = time.monotonic() + STOPPED_SECONDS
        while describe_run(self._stack, run_id)["status"] == "RUNNING" and time.monotonic() < until:
            if any(True for _ in store.list(f"{run_prefix(run_id)}outcomes/")):
                break
            time.sleep(min(self._stack.poll_seconds, 1.0))
        return stop_run(self._stack, run_id)


def fill(row: CaseRow, case: Case, summary: Mapping[str, Any], seconds: float) -> None:
    """Put the figures of a summary into a row, with what is not as expected."""
    totals, forecast = summary["totals"], summary["forecast"]
    row.entries, row.bytes = totals["listed"]["entries"], totals["listed"]["bytes"]
    row.measured = {"seconds": round(seconds, 1), "dollars": None}
    row.forecast = {"seconds": None, "dollars": None}
    if forecast is not None:
        row.forecast = {
            "seconds": round(sum(forecast["predicted_seconds"].values()), 1),
            "dollars": forecast["dollars"]["total"],
        }
        actual = forecast["actual_dollars"]
        row.measured["dollars"] = actual["total"] if actual else None
    for name, count in case.expected.items():
        found = totals[name]["entries"]
        if found != count:
            row.problems.append(f"{name}: {found:,} entries, not {count:,}")
    if totals["listed"]["entries"] != case.entries:
        row.problems.append(f"listed: {totals['listed']['entries']:,} entries, not {case.entries:,}")
    verification = summary["verification"]
    if verification is None:
        row.problems.append("both trees were not compared")
    else:
        row.differences = verification["differences"]
        if row.differences:
            row.problems.append(f"verify all: {row.differences:,} differences")
    row.status = "failed" if row.problems else "succeeded"
