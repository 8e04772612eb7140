"""The next step after a run, by its mode and end: one table for the command line, the report and the docs.

The first row that fits a run holds. ``fanout retry`` resumes a copy, move, sync or verification that has a plan. For
any other run it starts the stored request from the beginning; with ``--again`` also for these.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from fanout.books.failures import FailureClass
from fanout.books.step import NextStep, Verb
from fanout.books.summary_document import Status, SummaryDocument
from fanout.model.outcome import Reason, Result
from fanout.request.course import CARRYING_OVER, COPYING, RESUMABLE, Mode


class Left(StrEnum):
    """The entries left by a run that closed its books."""

    FAILED = "failed entries"
    CHANGED = "entries that changed at an end"
    REJECTED = "rejected entries"
    DIFFERS = "differences"
    EXTRA = "entries that only the destination holds"
    NOT_DELETED = "entries that a move copied and could not delete"


class EndedRun(Struct, frozen=True):
    """How a run ended; ``mode`` is ``None`` of one that had no plan, ``status`` of the summary or of the execution."""

    mode: Mode | None
    status: str
    error: str = ""
    left: frozenset[Left] = frozenset()
    nothing_listed: bool = False
    nothing_planned: bool = False
    nothing_taken: bool = False


class Rule(Struct, frozen=True):
    """A row: of these modes, ended like this, with nothing left but ``only``; empty fits everything."""

    how: str
    step: NextStep
    modes: frozenset[Mode] = frozenset()
    statuses: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    only: frozenset[Left] = frozenset()
    nothing_listed: bool = False
    nothing_planned: bool = False
    nothing_taken: bool = False

    def fits(self, ended: EndedRun) -> bool:
        return (
            (not self.modes or ended.mode in self.modes)
            and (not self.statuses or ended.status in self.statuses)
            and (not self.errors or ended.error in self.errors)
            and (not self.only or (bool(ended.left) and ended.left <= self.only))
            and (not self.nothing_listed or ended.nothing_listed)
            and (not self.nothing_planned or ended.nothing_planned)
            and (not self.nothing_taken or ended.nothing_taken)
        )


def _of(*modes: Mode) -> frozenset[Mode]:
    return frozenset(modes)


def _after(*errors: str, step: NextStep, modes: frozenset[Mode] = frozenset()) -> Rule:
    """The row of runs that ended with one of these errors."""
    return Rule(", ".join(f"`{error}`" for error in errors), step, modes, errors=frozenset(errors))


_SUCCEEDED = frozenset({Status.SUCCEEDED.value})
_WITH_ITEMS = frozenset({Status.FAILED_WITH_ITEMS.value})
RULES = (
    Rule("still runs", NextStep("follow it to its end", Verb.WATCH), statuses=frozenset({"RUNNING"})),
    Rule(
        "skipped: another run carries out the same transfer",
        NextStep("follow the run that does the work", Verb.WATCH_HOLDER),
        statuses=frozenset({Status.SKIPPED.value}),
    ),
    Rule("a rollback that succeeded", NextStep("nothing", Verb.NONE), modes=_of(Mode.ROLLBACK), statuses=_SUCCEEDED),
    Rule(
        "succeeded, and nothing was listed",
        NextStep("check the bucket and the prefix, or the path, of the source; then name the right one", Verb.SOURCE),
        statuses=_SUCCEEDED,
        nothing_listed=True,
    ),
    Rule(
        "succeeded, and the filters took nothing",
        NextStep("correct the patterns: each must match paths below the source", Verb.FIELD),
        statuses=_SUCCEEDED,
        nothing_taken=True,
    ),
    Rule(
        "succeeded, and a copy would write nothing",
        NextStep("nothing is to be copied; only fanout sync deletes what is extra", Verb.NONE),
        modes=_of(Mode.PLAN),
        statuses=_SUCCEEDED,
        nothing_planned=True,
    ),
    Rule(
        "succeeded",
        NextStep("copy what was planned; fanout sync with the same words also deletes what is extra", Verb.COPY),
        modes=_of(Mode.PLAN),
        statuses=_SUCCEEDED,
    ),
    Rule("succeeded", NextStep("nothing", Verb.NONE), statuses=_SUCCEEDED),
    _after("InvalidRequest", step=NextStep("correct the field that the error names", Verb.FIELD)),
    _after(
        "DeleteRefused",
        step=NextStep(
            "see what it would delete, and check that the source is whole; then start it again without --dry-run, with "
            "a higher --max-delete where a limit of delete_guard is named",
            Verb.PLAN_SYNC,
        ),
        modes=_of(Mode.SYNC),
    ),
    _after(
        "DeleteRefused",
        step=NextStep(
            "check that the source is whole, then start the request again; only if a limit of delete_guard is named, "
            "raise it with --set",
            Verb.AGAIN,
        ),
    ),
    _after("FinishRefused", step=NextStep("set the limits.finish_by that the error ends with, or later", Verb.FINISH)),
    _after("BudgetRefused", step=NextStep("raise limits.max_dollars, or take fewer entries", Verb.DOLLARS)),
    _after(
        "AccessDenied",
        "Unreachable",
        step=NextStep("follow the remedy that the error ends with, then retry", Verb.RETRY),
    ),
    _after(
        "DestinationBusy",
        "Superseded",
        step=NextStep("wait until the other run to this destination has ended, then retry", Verb.RETRY),
    ),
    _after("LedgerBroken", step=NextStep("start the request again; it lists both ends anew", Verb.AGAIN)),
    Rule(
        "all of the source is at the destination, which holds more",
        NextStep("see what a sync would delete; without --dry-run it deletes that", Verb.PLAN_SYNC),
        modes=_of(Mode.VERIFY, Mode.COPY),
        statuses=_WITH_ITEMS,
        only=frozenset({Left.EXTRA}),
    ),
    Rule(
        "differences, or entries that were not compared",
        NextStep("copy what differs, then verify again; only a sync deletes what is extra", Verb.COPY_CHECKSUM),
        modes=_of(Mode.VERIFY),
        statuses=_WITH_ITEMS,
    ),
    Rule(
        "only rejected entries are left",
        NextStep("rename them, or set the field that their remedy names; then start the request again", Verb.AGAIN),
        modes=CARRYING_OVER,
        statuses=_WITH_ITEMS,
        only=frozenset({Left.REJECTED}),
    ),
    Rule(
        "entries changed while they were copied",
        NextStep("wait until nobody writes to either end, then start the request again", Verb.AGAIN),
        modes=CARRYING_OVER,
        statuses=_WITH_ITEMS,
        only=frozenset({Left.CHANGED, Left.REJECTED}),
    ),
    Rule(
        "entries could not be deleted at the source",
        NextStep("follow the remedies of the failures, then start the move again", Verb.AGAIN),
        modes=_of(Mode.MOVE),
        statuses=_WITH_ITEMS,
        only=frozenset({Left.NOT_DELETED, Left.CHANGED, Left.REJECTED}),
    ),
    Rule(
        "the verification found differences",
        NextStep("copy everything again, whatever seems unchanged", Verb.COPY_ALWAYS),
        modes=COPYING,
        statuses=_WITH_ITEMS,
        only=frozenset({Left.DIFFERS, Left.EXTRA}),
    ),
    Rule(
        "failed entries",
        NextStep(
            "follow the remedies of the failures; a retry copies what is left",
            Verb.RETRY,
        ),
        modes=CARRYING_OVER,
        statuses=_WITH_ITEMS,
    ),
    Rule(
        "failed or rejected entries",
        NextStep("follow the remedies of the failures; a retry lists both ends again", Verb.RETRY),
        statuses=_WITH_ITEMS,
    ),
    _after(
        "OutOfTime",
        "OutOfBudget",
        step=NextStep(
            "retry; where the error says that the run got no further, raise the limit with --set", Verb.RETRY
        ),
    ),
    Rule(
        "stopped, or broken off",
        NextStep("a retry copies what is left", Verb.RETRY),
        modes=CARRYING_OVER,
    ),
    Rule(
        "stopped, or broken off",
        NextStep("a retry lists both ends again, and does not compare again what is proven", Verb.RETRY),
        modes=RESUMABLE,
    ),
    Rule(
        "stopped, or broken off",
        NextStep("a retry starts the request again from the beginning", Verb.RETRY),
    ),
)
_CHANGED = frozenset({Reason.SOURCE_CHANGED, Reason.SOURCE_VANISHED, Reason.DESTINATION_CHANGED})


def next_step(ended: EndedRun) -> NextStep:
    """The first row that fits; the last one fits every run."""
    return next(rule.step for rule in RULES if rule.fits(ended))


def left_of(classes: Iterable[FailureClass]) -> frozenset[Left]:
    """The entries left, from the failures by class."""
    return frozenset(map(_left, classes))


def _left(one: FailureClass) -> Left:
    if one.outcome is Result.REJECTED:
        return Left.REJECTED
    if one.phase == "verify":
        return Left.EXTRA if one.reason == Reason.EXTRA else Left.DIFFERS
    if one.reason == Reason.SOURCE_NOT_DELETED:
        return Left.NOT_DELETED
    return Left.CHANGED if one.reason in _CHANGED else Left.FAILED


def next_step_of(summary: SummaryDocument) -> NextStep:
    """The next step after a run that has its summary."""
    return next_step(
        EndedRun(
            summary.mode,
            summary.status.value,
            summary.error.name if summary.error else "",
            left_of(summary.failures_by_class),
            nothing_listed=not summary.totals.listed.entries,
            nothing_planned=summary.planned is not None and not summary.planned.to_copy.entries,
            nothing_taken=bool(summary.warnings and summary.totals.listed.entries and not summary.totals.taken),
        )
    )
