"""The facts of a run that has ended, as SummariseTransfer reads them from the ledger."""

from __future__ import annotations

import json
from collections import Counter
from functools import cached_property
from itertools import pairwise

from fanout.books.failure_writer import FailureWriter
from fanout.books.run_activity import run_activities
from fanout.books.run_books import RunBooks, run_books
from fanout.books.summary_document import (
    PUBLISHED,
    EarlierRun,
    Planned,
    Published,
    SummaryDocument,
    Verified,
    figures_of,
)
from fanout.books.verification_results import Verification, verification_of
from fanout.deleting.deletions import deletion_results
from fanout.finishing.unset_directories import directories_failed
from fanout.forecast.phases import NOTED
from fanout.ledger import keys, run_places
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.model.books import Books, Count
from fanout.model.document import Json, Lasting
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import LedgerBroken, RunError, run_error
from fanout.model.outcome import Result
from fanout.request.options import ReportEntries
from fanout.request.plan import Plan
from fanout.shards.round_records import segment_key
from fanout.shards.shard_results import Absent, ShardResult
from fanout.shards.tasks.activity import Activity
from fanout.summary.planned import planned_books, planned_run
from fanout.summary.stopping import absent_by, stopped_by_limit, with_way_on
from fanout.work.context import Context
from fanout.work.facts import Facts, asked
from fanout.work.rates.in_force import limits_in_force


class RunFacts(Facts):
    """The facts of a run; ``caught`` is the error that broke it off, as Catch hands it on.

    Only small ones are asked ahead: what all shards hold is read once, by whoever needs it first.
    """

    def __init__(self, caught: Json | None, context: Context) -> None:
        super().__init__(more=2)  # the lists of up to two turns
        self.context, self.ledger = context, context.ledger
        self.stopped_at = context.clock.now()
        self._caught = caught

    def ahead(self) -> None:
        """Begin to ask everything small, the lists of the turns included."""
        super().ahead()
        if self.context.turns is not None:
            self.context.turns.look_ahead(self.plan.request.written_ends, self._pool)

    @asked
    def plan(self) -> Plan:
        """The plan."""
        return self.ledger.read_plan()

    @asked
    def earlier(self) -> tuple[EarlierRun | None, list[str]]:
        """The run before, with notes."""
        return find_earlier(self.plan, self.ledger)

    @asked
    def limits_problem(self) -> str:
        """Why limits.json is not valid; empty where it is."""
        return limits_in_force(self.ledger)[1]

    @asked
    def page(self) -> None:
        """Loads what renders the report: no other state needs the templates' import time."""
        import fanout.report.page
        import fanout.summary.named_entries  # noqa: F401

    @asked
    def broke_off(self) -> RunError | None:
        """The error that broke the run off."""
        return None if self._caught is None else _segment_error(self.ledger) or run_error(self._caught)

    @asked
    def unset(self) -> dict[str, Outcome]:
        """The directories that did not get their attributes."""
        return directories_failed(self.ledger)

    @asked
    def published(self) -> Published | None:
        """The version that was published."""
        return self.ledger.find(PUBLISHED)

    @cached_property
    def failures(self) -> FailureWriter:
        """The writer of all failures, the first of which are those of the books."""
        return FailureWriter(self.ledger, reports=self.plan.request.report_entries is not ReportEntries.NONE)

    @cached_property
    def absent(self) -> Absent:
        """Why an entry of a shard has no outcome."""
        return absent_by(self.plan, self.ledger, self.stopped_at)

    @cached_property
    def planned(self) -> Planned | None:
        """The changes that a run planned, written on the way."""
        plans = self.plan.request.course.plans and self.broke_off is None
        return planned_run(self.plan, self.ledger) if plans else None

    @cached_property
    def books(self) -> RunBooks:
        """The books; each of their failures is written."""
        course, add = self.plan.request.course, self.failures.add
        if self.planned is not None:
            return planned_books(self.ledger, add)
        if course.goes_back:
            return RunBooks(Books(), complete=True, shards=[], failures=[])
        return run_books(self.ledger, self.broke_off, add, "copy" if course.writes else "verify", self.absent)

    @cached_property
    def deleted(self) -> ShardResult:
        """The results of the deletion."""
        return deletion_results(self.ledger, self.absent)

    @cached_property
    def stopped(self) -> RunError | None:
        """The error that broke the run off, or its own limit that ended the copying."""
        return stopped_by_limit(self.plan, self.books.reasons, self.broke_off, self.ledger, self.stopped_at)

    @cached_property
    def verification(self) -> Verification | None:
        """The results of the verification."""
        return verification_of(self.plan, self.ledger, self.books, self.stopped, self.absent)

    @cached_property
    def error(self) -> RunError | None:
        """The error of the run itself, before it is asked whether it brought about what it is for."""
        error = self.stopped
        compared = {} if self.verification is None else self.verification.reasons
        kept = Counter(one.reason for one in self.deleted.failures if one.reason is not None)
        for reasons in (compared, kept):
            error = stopped_by_limit(self.plan, reasons, error, self.ledger, self.stopped_at)
        return with_way_on(error, self.plan, self.books, self.deleted, self.ledger)

    @cached_property
    def activities(self) -> list[Activity]:
        """The tasks of each phase over time."""
        return run_activities(self.ledger, self.books.shards)

    @cached_property
    def now(self) -> float:
        """When the run ended: all of it has been read by then."""
        _ = self.activities
        return self.context.clock.now()

    @cached_property
    def phases(self) -> list[tuple[str, float, float]]:
        """Each phase with its begin and end."""
        return _phases(self.ledger, self.now)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of each phase."""
        return {phase: round(ended - began, 3) for phase, began, ended in self.phases}

    @property
    def whole_books(self) -> Books:
        """The books of the run, with what it deleted."""
        return self.books.books.plus(Count(), {Result.DELETED: self.deleted.results[Result.DELETED]})

    @property
    def verified(self) -> Verified | None:
        """The verification as the summary has it, of a run that nothing broke off."""
        return self.verification.verified if self.verification and self.error is None else None


def _segment_error(ledger: Ledger) -> RunError | None:
    """The error of a segment that was not listed: a Map reports only that its tolerance was exceeded."""
    for listing in (ledger, ledger.verification()):
        for key in listing.keys(keys.SEGMENTS_FAILED):
            failed = listing.read(keys.segment_failed_key.at(key))
            if not listing.has(segment_key(failed.segment)):
                return RunError(failed.error, failed.message)
    return None


def _phases(ledger: Ledger, now: float) -> list[tuple[str, float, float]]:
    """Each phase with its begin and its end, which is the begin of the next one that the run reached.

    Raises ``LedgerBroken`` where the ledger does not list the begin of this state, which is in it.
    """
    begun = {key: ledger.read(keys.phase_key.at(key)).began for key in ledger.keys("phases/")}
    if keys.phase_key("summarise") not in begun:
        raise LedgerBroken(f"the ledger does not list {keys.phase_key('summarise')}, which this task has written")
    times = [(phase, begun[keys.phase_key(phase)]) for phase in NOTED if keys.phase_key(phase) in begun]
    times.sort(key=lambda one: one[1])  # a move deletes after the verification, a sync before it
    return [(phase, began, ended) for (phase, began), (_, ended) in pairwise([*times, ("", now)])]


class Latest(Lasting, frozen=True):
    """The last run with these ends and this mode, and the one before, which a second attempt at the last run finds."""

    run: EarlierRun
    before: EarlierRun | None


LATEST = ObjectKind("{about}.json", Latest, by=("SummariseTransfer",), place=run_places.run_prefix(run_places.LATEST))


def find_earlier(plan: Plan, ledger: Ledger) -> tuple[EarlierRun | None, list[str]]:
    """The run before this one, and a note if its figures cannot be read; ``None`` if none is on record."""
    try:
        latest = ledger.of_run(run_places.LATEST).find(_key(plan))
    except LedgerBroken as error:
        problem = str(error).removesuffix(f"; {START_AGAIN}")
        return None, [f"the figures of the run before cannot be read, so none are compared: {problem}"[:500]]
    if latest is None:
        return None, []
    return (latest.before if latest.run.run_id == plan.run_id else latest.run), []


def write_latest(plan: Plan, summary: SummaryDocument, ledger: Ledger) -> None:
    """Make this run the one that the next run is compared with."""
    ledger.of_run(run_places.LATEST).write(_key(plan), Latest(figures_of(summary), summary.earlier))


def _key(plan: Plan) -> ObjectKind[Latest]:
    request = plan.request
    ends = [str(request.source), str(request.destination), request.mode.value]
    return LATEST.at(run_places.name_of(json.dumps(ends)))
