"""``fanout list``: the newest runs, as a table for people, as lines for a pipe, as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from rich.console import Console

from fanout.ledger.keys import SUMMARY
from fanout.report.text import size, visible
from fanout_cli.runs.results import differences_in
from fanout_cli.runs.run_ids import schedule_of
from fanout_cli.runs.runs import FORGOTTEN, KeptLedger, asked_of, describe_run, ledgers_of, read_ledger
from fanout_cli.stacks import Stack

READS_IN_FLIGHT = 8
# The newest runs of a stack among which the last one of each schedule is looked for.
LOOKED_THROUGH = 1000
COLUMNS = ("run", "mode", "status", "began", "seconds", "copied", "bytes", "failed", "source", "destination", "error")
# Columns of the first line of a run.
_WIDE = 8


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A row of the list. Counts are unknown while a run is running; mode and ends are unknown of a refused one."""

    run_id: str
    status: str
    began: datetime
    seconds: float | None
    copied: int | None
    failed: int | None
    bytes: int | None = None
    mode: str | None = None
    source: str | None = None
    destination: str | None = None
    error: str | None = None

    def document(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**asdict(self), "began": self.began.isoformat(), "schedule": schedule_of(self.run_id)}

    def cells(self) -> tuple[str, ...]:
        """The row as texts, in the order of ``COLUMNS``."""
        counts = ["" if one is None else f"{one:,}" for one in (self.seconds, self.copied)]
        volume = "" if self.bytes is None else size(self.bytes)
        failed = "" if self.failed is None else f"{self.failed:,}"
        ends = [one or "" for one in (self.source, self.destination, self.error)]
        began = f"{self.began:%Y-%m-%d %H:%M:%S}"
        return (self.run_id, self.mode or "", self.status, began, *counts, volume, failed, *ends)


def list_runs(stack: Stack, limit: int, schedule: str | None = None) -> list[ListedRun]:
    """The newest runs, the newest first; of the local stack also those of earlier days, by their ledgers.

    With ``schedule`` only the runs of that one.
    """
    return _read(stack, newest_executions(stack, limit, schedule))


def newest_executions(stack: Stack, limit: int, schedule: str | None = None) -> list[dict[str, Any]]:
    """Names, times and statuses of the newest runs, the newest first."""
    page = limit if schedule is None else LOOKED_THROUGH
    wanted = (one for one in _executions(stack, page) if schedule is None or schedule_of(one["name"]) == schedule)
    executions = list(islice(wanted, limit))
    if stack.is_local:
        known = {execution["name"] for execution in executions}
        forgotten = [
            one
            for one in ledgers_of(stack)
            if one.run_id not in known and (schedule is None or schedule_of(one.run_id) == schedule)
        ]
        executions += [_execution(stack, one) for one in forgotten[:limit]]
    executions.sort(key=lambda execution: execution["startDate"], reverse=True)
    return executions[:limit]


def last_runs(stack: Stack, schedules: Collection[str]) -> dict[str, ListedRun]:
    """The newest run of each schedule that has one among the newest thousand of the stack."""
    newest: dict[str, dict[str, Any]] = {}
    for execution in islice(_executions(stack, LOOKED_THROUGH), LOOKED_THROUGH):
        name = schedule_of(execution["name"])
        if name in schedules:
            newest.setdefault(str(name), execution)
        if len(newest) == len(schedules):
            break
    return dict(zip(newest, _read(stack, list(newest.values())), strict=True))


def _executions(stack: Stack, page_size: int) -> Iterator[dict[str, Any]]:
    """The executions that Step Functions remembers, the newest first; at most 1,000 a page."""
    pages = stack.client("stepfunctions").get_paginator("list_executions")
    config = {"PageSize": page_size}
    for page in pages.paginate(stateMachineArn=stack.state_machine_arn, PaginationConfig=config):
        yield from page["executions"]


def _read(stack: Stack, executions: Sequence[Mapping[str, Any]]) -> list[ListedRun]:
    with ThreadPoolExecutor(READS_IN_FLIGHT) as pool:
        return list(pool.map(lambda execution: _listed(stack, execution), executions))


def _execution(stack: Stack, ledger: KeptLedger) -> dict[str, Any]:
    """A run that the emulator has forgotten, as Step Functions would list it."""
    summary = read_ledger(stack, ledger.run_id, SUMMARY)
    row: dict[str, Any] = {"name": ledger.run_id, "startDate": ledger.began, "status": FORGOTTEN}
    if summary is None:
        return row
    began, ended = (datetime.fromisoformat(summary[name]) for name in ("began", "ended"))
    return {**row, "startDate": began, "stopDate": ended, "status": summary["status"]}


def _listed(stack: Stack, execution: Mapping[str, Any]) -> ListedRun:
    run_id, began, ended = execution["name"], execution["startDate"], execution.get("stopDate")
    summary = read_ledger(stack, run_id, SUMMARY) if ended else None
    totals = summary["totals"] if summary else None
    asked = summary or asked_of(stack, run_id)
    asked = asked if isinstance(asked, dict) else {}
    mode = asked.get("mode", "copy" if asked.get("source") else None)
    return ListedRun(
        run_id,
        summary["status"] if summary else execution["status"],
        began,
        round((ended - began).total_seconds(), 1) if ended else None,
        totals["copied"]["entries"] if totals else None,
        _failed(summary) if summary else None,
        totals["copied"]["bytes"] if totals else None,
        mode,
        asked.get("source"),
        asked.get("destination"),
        _error(stack, execution, summary),
    )


def _failed(summary: Mapping[str, Any]) -> int:
    """The entries that failed or were rejected; of a run of mode verify each difference, once."""
    if differences_in(summary):
        return int(summary["failures"])
    return sum(int(summary["totals"][name]["entries"]) for name in ("failed", "rejected"))


def _error(stack: Stack, execution: Mapping[str, Any], summary: Mapping[str, Any] | None) -> str | None:
    if summary is not None:
        found = differences_in(summary)
        return f"trees differ: {found}" if found else summary["error"]["name"] if summary["error"] else None
    if execution["status"] in ("RUNNING", "SUCCEEDED"):
        return None
    return str(describe_run(stack, execution["name"]).get("error") or execution["status"])


def plain(runs: Sequence[ListedRun]) -> Iterator[str]:
    """Lines with tabs between the columns, for ``cut`` and ``awk``; control characters are shown as escapes."""
    for cells in (COLUMNS, *(run.cells() for run in runs)):
        yield "\t".join(visible(cell) for cell in cells)


def show(runs: Sequence[ListedRun], console: Console) -> None:
    """The runs for people: a line each, and below it from where to where, and the error. No id is ever cut."""
    rows = [COLUMNS[:_WIDE], *(run.cells()[:_WIDE] for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(line.rstrip(), style="bold" if not number else None, soft_wrap=True)
        if number and (below := _below(runs[number - 1])):
            console.print(f"  {below}", style="dim", soft_wrap=True)


def _below(run: ListedRun) -> str:
    ends = f"{run.source} to {run.destination}" if run.source else ""
    return ": ".join(part for part in (ends, run.error) if part)
