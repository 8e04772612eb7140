"""summary.json: the verdict and the books of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct, field, to_builtins

from fanout.books.failures import FailureClass
from fanout.forecast.document import ForecastDocument
from fanout.ledger.rows import count_row
from fanout.model.books import Books, Count
from fanout.model.document import SCHEMA_VERSION, Json
from fanout.model.location import S3Location
from fanout.model.outcome import Result
from fanout.model.run_error import RunError
from fanout.request.request import Request


class Status(StrEnum):
    """How a run ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED_WITH_ITEMS = "FAILED_WITH_ITEMS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class Planned(Struct, frozen=True):
    """What a copy and a sync would do.

    With ``compare: checksum`` what is of one size at both ends counts as to copy. ``to_delete`` is ``None`` where names
    are escaped, ``refusal`` says why a sync would delete nothing at all, empty if it would.
    ``seconds`` is the predicted time of the copying, functions at work at the same time taken into account.
    """

    to_copy: Count
    to_delete: Count | None
    refusal: str
    seconds: float


def planned_row(planned: Planned) -> Json:
    """The part of summary.json."""
    return {
        "to_copy": count_row(planned.to_copy),
        "to_delete": count_row(planned.to_delete) if planned.to_delete is not None else None,
        "delete_refused": planned.refusal or None,
        "predicted_seconds": round(planned.seconds, 3),
    }


class Skipped(Struct, frozen=True):
    """Why a run did nothing, and which run does its work."""

    reason: str
    holder: str

    def row(self) -> Json:
        """The part of summary.json."""
        return {"reason": self.reason, "holder": self.holder}


class Summary(Struct, frozen=True):
    """What SummariseTransfer found. ``seconds`` is by phase, ``failures`` the number of rows in failures.jsonl.

    ``began`` and ``ended`` are seconds since 1970, ``classes`` the failures by class.
    """

    run_id: str
    source: str
    destination: str
    books: Books
    seconds: Mapping[str, float]
    shards: int
    predicted_seconds: float
    failures: int
    complete_listing: bool
    error: RunError | None = None
    verification: Json | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0
    mode: str = "copy"
    classes: list[FailureClass] = field(default_factory=list)
    tasks: list[Json] = field(default_factory=list)
    sizes: list[Json] = field(default_factory=list)
    shard_seconds: Sequence[float] = ()
    planned: Planned | None = None
    forecast: ForecastDocument | None = None
    skipped: Skipped | None = None

    @property
    def imbalance(self) -> float | None:
        """The longest shard's actual seconds over the mean of all; ``None`` where none was measured."""
        total = sum(self.shard_seconds)
        return max(self.shard_seconds) * len(self.shard_seconds) / total if total else None

    @property
    def missing(self) -> Count:
        """Entries without an outcome; of a plan those that it would copy have none by its nature."""
        return self.books.missing - (self.planned.to_copy if self.planned else Count())

    @property
    def balanced(self) -> bool:
        """Whether every listed entry has an outcome, or is planned to get one."""
        return self.missing == Count()

    @property
    def status(self) -> Status:
        """SUCCEEDED only if nothing broke off, the books balance, and no entry failed or was rejected."""
        if self.skipped is not None:
            return Status.SKIPPED
        if self.error is not None or not self.balanced:
            return Status.FAILED
        if not self.books.clean or not self.complete_listing or self.failures:
            return Status.FAILED_WITH_ITEMS
        return Status.SUCCEEDED

    @property
    def cause(self) -> str:
        """One sentence that says what is wrong, empty for a run that succeeded."""
        if self.error is not None:
            return f"{self.error.name}: {self.error.message}"
        if not self.balanced:
            missing = f"{self.missing.entries} entries and {self.missing.bytes} bytes"
            return f"the books do not balance: {missing} have no outcome"
        if self.status in (Status.SUCCEEDED, Status.SKIPPED):
            return ""
        failed = self.books.by_result[Result.FAILED].entries
        rejected = self.books.by_result[Result.REJECTED].entries
        others = self.failures - failed - rejected
        other = f", {others} could not be finished or deleted, or differ" if others > 0 else ""
        return (
            f"{failed} entries failed and {rejected} were rejected{other}{self._differences}; "
            "failures.jsonl says which and why"
        )

    @property
    def _differences(self) -> str:
        """What a verification found, by class."""
        by_class = self.verification["by_class"] if self.verification else []
        found = ", ".join(f"{one['reason']} {one['entries']:,}" for one in by_class)
        return f"; the verification found: {found}" if found else ""


def nothing_listed(request: Request) -> str:
    """The warning of a run that found nothing at its source: a prefix or a name may be mistyped."""
    if request.manifest is not None:
        return f"nothing was listed: the manifest {request.manifest} names nothing of the source"
    if isinstance(request.source, S3Location):
        return f"nothing was listed: {request.source} holds no object; check the bucket and the prefix"
    return f"nothing was listed: {request.source} is empty; check the path"


def utc(seconds: float) -> str:
    """Seconds since 1970 as a time of ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def summary_row(summary: Summary) -> Json:
    """summary.json."""
    totals = {"listed": count_row(summary.books.listed)}
    totals |= {result.value: count_row(count) for result, count in summary.books.by_result.items()}
    error = None
    if summary.error is not None:
        error = {"name": summary.error.name, "message": summary.error.message}
    elif summary.status not in (Status.SUCCEEDED, Status.SKIPPED):
        error = {"name": "FailedWithItems" if summary.balanced else "LedgerBroken", "message": summary.cause}
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": summary.run_id,
        "status": summary.status.value,
        "error": error,
        "mode": summary.mode,
        "began": utc(summary.began),
        "ended": utc(summary.ended),
        "source": summary.source,
        "destination": summary.destination,
        "totals": totals,
        "balanced": summary.balanced,
        "complete_listing": summary.complete_listing,
        "seconds": dict(summary.seconds),
        "shards": {
            "count": summary.shards,
            "predicted_seconds": round(summary.predicted_seconds, 3),
            "actual_seconds": round(sum(summary.shard_seconds), 3),
            "imbalance": None if summary.imbalance is None else round(summary.imbalance, 3),
        },
        "tasks": summary.tasks,
        "sizes": summary.sizes,
        "failures": summary.failures,
        "failures_by_class": [one.row() for one in summary.classes],
        "verification": summary.verification,
        "planned": planned_row(summary.planned) if summary.planned else None,
        "forecast": to_builtins(summary.forecast),
        "skipped": summary.skipped.row() if summary.skipped else None,
        "warnings": summary.warnings,
        "notes": summary.notes,
    }
