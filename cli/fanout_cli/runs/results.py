"""The result of a run, as the command line prints it, and the exit status of the command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import convert, to_builtins

from fanout.books.failures import FailureClass
from fanout.books.summary_document import Planned, Published, Status, Verified
from fanout.forecast.phases import NOTED
from fanout.model.books import Books
from fanout.model.errors import (
    AccessDenied,
    BudgetRefused,
    DeleteRefused,
    FinishRefused,
    InvalidRequest,
    Unreachable,
    cause_message,
)
from fanout.model.outcome import Result
from fanout.report.text import clip
from fanout.report.verdict import differences
from fanout.request.course import Mode
from fanout_cli.command_error import EXIT_FAILED
from fanout_cli.runs.work_bucket import document_in

EXIT_SUCCEEDED = 0
EXIT_INVALID_REQUEST = 2
EXIT_SKIPPED = 3
EXIT_DENIED = 4
EXIT_REFUSED = 5
EXIT_BROKE_OFF = 6

_OF_STATUS = {
    Status.SUCCEEDED.value: EXIT_SUCCEEDED,
    Status.SKIPPED.value: EXIT_SKIPPED,
    Status.FAILED_WITH_ITEMS.value: EXIT_FAILED,
}
# Whatever else ends a run breaks it off: time or dollars were used up, it was stopped, a service failed.
_OF_ERROR = {
    InvalidRequest.__name__: EXIT_INVALID_REQUEST,
    AccessDenied.__name__: EXIT_DENIED,
    Unreachable.__name__: EXIT_DENIED,
    DeleteRefused.__name__: EXIT_REFUSED,
    BudgetRefused.__name__: EXIT_REFUSED,
    FinishRefused.__name__: EXIT_REFUSED,
}


def exit_status_of(status: str, error: Mapping[str, str] | None) -> int:
    """The exit status for a run's status, and its error if it has one."""
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    return _OF_ERROR.get(error["name"] if error else "", EXIT_BROKE_OFF)


# Chosen: as many as a person reads below each class.
FIRST = 5


class Named(NamedTuple):
    """An entry that failed, and the store's own words about it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{clip(self.path)}: {clip(self.message)}" if self.message else clip(self.path)


FailedPaths = Mapping[tuple[str, str, str], list[Named]]


def failed_paths(rows: Iterable[Mapping[str, Any]], most: int | None = FIRST) -> FailedPaths:
    """The first ``most`` entries of each class, of the rows of failures.jsonl; all of them for ``None``."""
    found: dict[tuple[str, str, str], list[Named]] = defaultdict(list)
    for row in rows:
        named = found[row.get("phase", ""), row.get("outcome", ""), row.get("reason", "")]
        if most is None or len(named) < most:
            named.append(Named(str(row.get("path", "")), str(row.get("message", ""))))
    return found


def lines_of(one: FailureClass, found: FailedPaths) -> Iterator[str]:
    """The entries of a class, a line each, and how many more there are."""
    named = found.get((one.phase, one.outcome.value, one.reason), [])
    yield from (f"    {entry}" for entry in named)
    if named and one.entries > len(named):
        yield f"    and {one.entries - len(named):,} more"


# How the state machine ends an execution that has closed its books.
_WITH_SUMMARY = ("SUCCEEDED", "FAILED")


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run; ``engine_seconds`` is what was spent on anything but listing and copying.

    ``skipped`` says of a run that did nothing why, and which run does its work. Without ``is_counted`` no books were
    closed and the totals mean nothing; ``so_far`` is then what is known of the run. ``planned`` is of a plan alone,
    ``published`` of a run that switched the link to a version. ``dollars`` are those of AWS, also where ``is_local``.
    """

    run_id: str | None
    status: str
    error: Mapping[str, str] | None
    totals: Mapping[str, Mapping[str, int]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    engine_seconds: float | None = None
    paths: Mapping[str, str | None] = field(default_factory=dict)
    skipped: Mapping[str, str] | None = None
    warnings: Sequence[str] = ()
    mode: Mode | None = None
    classes: Sequence[FailureClass] = ()
    dollars: float | None = None
    is_counted: bool = True
    so_far: str = ""
    planned: Planned | None = None
    published: Published | None = None
    differences: str = ""
    is_local: bool = False
    failed_paths: FailedPaths = field(default_factory=dict)

    @property
    def run_seconds(self) -> float:
        """Seconds from the plan's begin to the summary's end."""
        return sum(self.seconds.get(phase, 0.0) for phase in NOTED)

    @property
    def exit_status(self) -> int:
        """The exit status of a command that shows the run."""
        return exit_status_of(self.status, self.error)

    def document(self) -> dict[str, Any]:
        """The one JSON document of ``--json``."""
        return {
            "run_id": self.run_id,
            "status": self.status,
            "mode": self.mode,
            "error": self.error,
            "skipped": self.skipped,
            "warnings": list(self.warnings),
            "totals": self.totals if self.is_counted else None,
            "seconds": self.seconds,
            "engine_seconds": self.engine_seconds,
            "published": to_builtins(self.published),
            "paths": {name: self.paths.get(name) for name in ("ledger", "summary", "failures", "report", "deleted")},
        }


def no_totals() -> dict[str, dict[str, int]]:
    """The books of a run that did nothing."""
    books = Books()
    counts = {"listed": books.listed, **{result.value: books.by_result[result] for result in Result}}
    return {name: to_builtins(count) for name, count in counts.items()}


def refused(error: InvalidRequest) -> RunResult:
    """The result of a request that no run was started for."""
    return RunResult(None, "FAILED", {"name": "InvalidRequest", "message": str(error)}, no_totals(), is_counted=False)


def result_of(run: Mapping[str, Any], run_id: str, ledger: Path, seconds: Mapping[str, float]) -> RunResult:
    """The result of an execution that ended, from its description and the ledger as it was brought here."""
    paths = {"ledger": str(ledger)}
    for name, file in (
        ("summary", "summary.json"),
        ("failures", "failures.jsonl"),
        ("report", "report.html"),
        ("deleted", "deleted.jsonl"),
    ):
        if (ledger / file).is_file():
            paths[name] = str(ledger / file)
    summary = document_in((ledger / "summary.json").read_bytes(), "summary.json") if "summary" in paths else None
    result = result_of_summary(run, run_id, summary)
    phases = result.seconds
    work = phases.get("list", 0.0) + phases.get("copy", 0.0)
    all_seconds = {name: round(value, 3) for name, value in (*seconds.items(), *phases.items())}
    engine_seconds = round(seconds["total"] - work - seconds.get("load", 0.0) - seconds.get("save", 0.0), 3)
    return replace(result, seconds=all_seconds, engine_seconds=engine_seconds, paths=paths)


def result_of_summary(run: Mapping[str, Any], run_id: str, summary: Mapping[str, Any] | None) -> RunResult:
    """The result of an execution that ended, from its description and summary.json if it got one."""
    error = summary["error"] if summary else None
    if run["status"] != "SUCCEEDED" and error is None:
        error = {"name": run.get("error") or run["status"], "message": cause_message(run.get("cause") or "")}
    if summary is None:
        with_items = run["status"] == Status.FAILED and run.get("error") == "FailedWithItems"
        status = Status.FAILED_WITH_ITEMS.value if with_items else run["status"]
        return RunResult(run_id, status, error, no_totals(), is_counted=False)
    return RunResult(
        run_id,
        _status(run["status"], summary["status"]),
        error,
        summary["totals"],
        summary["seconds"],
        skipped=summary.get("skipped"),
        warnings=summary.get("warnings", ()),
        mode=Mode(summary["mode"]) if "mode" in summary else None,
        classes=convert(summary.get("failures_by_class", []), list[FailureClass]),
        dollars=((summary.get("forecast") or {}).get("actual_dollars") or {}).get("total"),
        planned=convert(summary["planned"], Planned) if summary.get("planned") else None,
        published=convert(summary["published"], Published) if summary.get("published") else None,
        differences=differences_in(summary),
    )


def differences_in(summary: Mapping[str, Any]) -> str:
    """The findings of a run of mode verify, from its summary.json; empty where both trees are equal."""
    if "mode" not in summary or not summary.get("verification"):
        return ""
    return differences(Mode(summary["mode"]), convert(summary["verification"], Verified))


def _status(execution: str, summary: str) -> str:
    """The summary's word, unless the execution ended worse after it was written: stopped, or failed."""
    if execution == Status.FAILED and summary in (Status.SUCCEEDED, Status.SKIPPED):
        return execution
    return summary if execution in _WITH_SUMMARY else execution
