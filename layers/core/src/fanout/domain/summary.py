"""summary.json: the verdict and the books of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from fanout.domain.books import Books
from fanout.domain.failures import FailureClass
from fanout.domain.outcomes import Result
from fanout.domain.rows import SCHEMA_VERSION, Json, count_row
from fanout.domain.run_error import RunError


class Status(StrEnum):
    """How a run ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED_WITH_ITEMS = "FAILED_WITH_ITEMS"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Summary:
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
    began: float = 0.0
    ended: float = 0.0
    mode: str = "copy"
    classes: list[FailureClass] = field(default_factory=list)
    tasks: list[Json] = field(default_factory=list)
    sizes: list[Json] = field(default_factory=list)
    shard_seconds: Sequence[float] = ()

    @property
    def imbalance(self) -> float | None:
        """The longest shard's actual seconds over the mean of all; ``None`` where none was measured."""
        total = sum(self.shard_seconds)
        return max(self.shard_seconds) * len(self.shard_seconds) / total if total else None

    @property
    def status(self) -> Status:
        """SUCCEEDED only if nothing broke off, the books balance, and no entry failed or was rejected."""
        if self.error is not None or not self.books.balanced:
            return Status.FAILED
        if not self.books.clean or not self.complete_listing or self.failures:
            return Status.FAILED_WITH_ITEMS
        return Status.SUCCEEDED

    @property
    def cause(self) -> str:
        """One sentence that says what is wrong, empty for a run that succeeded."""
        if self.error is not None:
            return f"{self.error.name}: {self.error.message}"
        missing = self.books.missing
        if not self.books.balanced:
            return f"the books do not balance: {missing.entries} entries and {missing.bytes} bytes have no outcome"
        if self.status is Status.SUCCEEDED:
            return ""
        failed = self.books.by_result[Result.FAILED].entries
        rejected = self.books.by_result[Result.REJECTED].entries
        return f"{failed} entries failed and {rejected} were rejected; failures.jsonl says which and why"


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
    elif summary.status is not Status.SUCCEEDED:
        error = {"name": "FailedWithItems" if summary.books.balanced else "LedgerBroken", "message": summary.cause}
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
        "balanced": summary.books.balanced,
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
        "notes": summary.notes,
    }
