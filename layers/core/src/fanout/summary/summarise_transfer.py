"""SummariseTransfer: balances the books from the ledger alone and writes what people and programs read."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from msgspec.structs import replace

from fanout.books.ending import Ending, shards_done, warnings_of
from fanout.books.failure_writer import FailureWriter
from fanout.books.run_activity import listed_sizes, matched_globs, run_activities, tasks_done
from fanout.books.run_books import RunBooks, run_books
from fanout.books.summary_document import EarlierRun, Published, Status, SummaryDocument, figures_of, totals_of
from fanout.books.verification_results import verification_of
from fanout.deleting.deletions import deletion_results, not_moved
from fanout.forecast.phases import NOTED
from fanout.forecast.run_forecast import forecast_and_actual
from fanout.ledger import keys, run_places
from fanout.ledger.documents import Notes, PhaseBegan, SegmentFailed
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.listing.index.earlier_index import name_index, no_index_note, write_index
from fanout.model.books import Books, Count
from fanout.model.document import Json, Lasting, utc
from fanout.model.errors import LedgerBroken, RunError, run_error
from fanout.model.outcome import Result
from fanout.pacing.pace_copy import decisions
from fanout.publishing.publish_version import not_published
from fanout.request.options import ReportEntries
from fanout.request.plan import Plan, settings_row
from fanout.request.request import Request
from fanout.shards.entry_report import report_done
from fanout.shards.shard_results import unread_notes
from fanout.shards.unset_directories import directories_failed, unset_notes
from fanout.summary.issue_certificate import RunTimes, issue_certificate
from fanout.summary.let_go import let_go_notes
from fanout.summary.planned import planned_books, planned_run
from fanout.summary.stopping import absent_by, stopped_by_limit, with_way_on
from fanout.turns.withdrawal import owes_nothing
from fanout.verifying.compared_big_files import compared_big_files
from fanout.work.context import Context


def summarise_transfer(caught: Json | None, context: Context, pace: Json | None = None) -> Json:
    """Balance the books, write failures.jsonl, issue the certificate, write summary.json and report.html.

    Returns status, error and cause.

    ``caught`` is the error that broke the run off, as Catch hands it on; ``pace`` what the pacing could not do.
    """
    with ThreadPoolExecutor(4, thread_name_prefix="meanwhile") as meanwhile:
        meanwhile.submit(_load_report)
        return _summarise(caught, context, pace, meanwhile)


def _summarise(caught: Json | None, context: Context, pace: Json | None, meanwhile: ThreadPoolExecutor) -> Json:
    """As ``summarise_transfer``; ``meanwhile`` asks and writes what nothing else waits for."""
    ledger = context.ledger
    ledger.begin("summarise", context.clock.now())
    ledger.look_ahead()
    ledger.settle()
    ledger.look_again()  # which has to show it
    plan = ledger.read_plan()
    finding = meanwhile.submit(find_earlier, plan, ledger)
    if context.turns is not None:
        context.turns.look_ahead(plan.request.written_ends, meanwhile)
    failures = FailureWriter(ledger, reports=plan.request.report_entries is not ReportEntries.NONE)
    error = None if caught is None else _segment_error(context.ledger) or run_error(caught)
    course = plan.request.course
    stopped_at = context.clock.now()
    absent = absent_by(plan, ledger, stopped_at)
    planned = planned_run(plan, ledger) if course.plans and error is None else None
    if planned is not None:
        found = planned_books(ledger, failures.add)
    elif course.goes_back:
        found = RunBooks(Books(), complete=True, shards=[], failures=[])
    else:
        found = run_books(ledger, error, failures.add, "copy" if course.writes else "verify", absent)
    error = stopped_by_limit(plan, found.reasons, error, ledger, stopped_at)
    deleted = deletion_results(ledger)
    verification = verification_of(plan, ledger, found, error, absent)
    if verification is not None:
        error = stopped_by_limit(plan, verification.reasons, error, ledger, stopped_at)
    error = with_way_on(error, plan, found, deleted, ledger)
    unset = directories_failed(ledger)
    differences = verification.failures_of(plan) if verification else []
    for phase, outcomes in (("finish", [*unset.values()]), ("delete", deleted.failures), ("verify", differences)):
        for outcome in outcomes:
            failures.add(outcome, phase)
    if course.compares and error is None:
        report_done(plan, ledger, "verify", "big-files", (one.outcome for one in compared_big_files(ledger)))
    notes = [note for key in ledger.keys(keys.NOTES) for note in ledger.read(key, Notes).notes]
    notes += unset_notes(unset) + unread_notes(found.sums) + _pacing_notes(pace or {})
    notes += let_go_notes(plan, ledger, deleted.results[Result.DELETED])
    failures.close()
    activities = run_activities(ledger, found.shards)
    now = context.clock.now()
    phases = _phases(ledger, now)
    seconds = {phase: round(ended - began, 3) for phase, began, ended in phases}
    books = found.books.plus(Count(), {Result.DELETED: deleted.results[Result.DELETED]})
    verified = verification.verified if verification and error is None else None
    published = ledger.find(keys.PUBLISHED, Published)
    ending = Ending(books, found.complete, failures.count, error, planned, verified)
    if ending.status is Status.SUCCEEDED:  # unless a phase did not bring about what it is for
        proven = verified.compared if verified else None
        ending = replace(ending, error=not_published(plan, published, ledger) or not_moved(plan, deleted, proven))
    totals, times = totals_of(books), RunTimes(utc(phases[0][1]), utc(now))
    certificate = issue_certificate(plan, ending, totals, times, context)
    notes += certificate.notes
    if certificate.error is not None:
        ending = replace(ending, error=certificate.error)
    if ending.status is not Status.SUCCEEDED:
        kept = books.by_result[Result.UNCHANGED].entries + books.by_result[Result.COPIED].entries
        notes += no_index_note(plan, ledger, kept)
    classes = failures.classes.most_first()
    whole = ending.status is Status.SUCCEEDED
    forecast = forecast_and_actual(plan, books, activities, seconds, ledger, now, whole=whole)
    if forecast is not None and forecast.finish is not None and forecast.finish.outcome:
        notes.append(f"limits.finish_by: {forecast.finish.outcome}")
    earlier, unread = finding.result()
    summary = SummaryDocument(
        run_id=ledger.run_id,
        status=ending.status,
        error=ending.reported,
        mode=plan.request.mode,
        began=times.began,
        ended=times.ended,
        source=str(plan.request.source),
        destination=str(plan.request.destination),
        totals=totals,
        balanced=ending.balanced,
        complete_listing=found.complete,
        seconds=seconds,
        shards=shards_done(len(found.shards), sum(shard.seconds for shard in found.shards), found.shard_seconds),
        tasks=[tasks_done(activity) for activity in activities],
        sizes=listed_sizes(ledger),
        failures=failures.count,
        failures_by_class=[one for one, _ in classes],
        verification=verified,
        certificate=certificate.issued,
        published=published,
        planned=planned,
        forecast=forecast,
        origin=plan.origin,
        earlier=earlier,
        warnings=[] if ending.error or course.goes_back else warnings_of(plan.request, books, matched_globs(ledger)),
        notes=notes + unread,
    )
    from fanout.report.page import Findings, render_report
    from fanout.summary.named_entries import named_entries

    named = named_entries(plan, ledger, planned, ending.error, deleted.results[Result.DELETED])
    plain = replace(plan, request=Request(source=plan.request.source, destination=plan.request.destination))
    findings = Findings(
        summary,
        settings_row(plan),
        classes,
        activities,
        decisions(ledger),
        named,
        ledger.find_json(keys.REQUEST),
        settings_row(plain),
    )
    known = _earlier(ledger)
    if known is None:  # else the report of that attempt is there, and shows what its summary says
        ledger.write_text(keys.REPORT, render_report(findings))
    if (known or summary).status is Status.SUCCEEDED:
        write_index(plan, ledger, phases[0][1], now)
    summary = _written(summary, known, ledger)
    writing = meanwhile.submit(write_latest, plan, summary, ledger)
    if summary.status is Status.SUCCEEDED:
        name_index(plan, ledger)
    if context.turns is not None and owes_nothing(plan, ledger):
        context.turns.release(plan)  # else the next run takes it out, and fences
    writing.result()
    name, cause = ("", "") if summary.error is None else (summary.error.name, summary.error.message)
    cause = f"{name}: {cause}" if ending.error is not None else cause
    return {"status": summary.status.value, "error": name, "cause": cause[:1000]}


def _load_report() -> None:
    """Import what renders the report: not at the top, because no other state needs the templates' import time."""
    import fanout.report.page
    import fanout.summary.named_entries  # noqa: F401


def _earlier(ledger: Ledger) -> SummaryDocument | None:
    """The summary of an earlier attempt; none where the plan came again when its turn had come."""
    known = ledger.find(keys.SUMMARY, SummaryDocument)
    return None if known is None or known.status is Status.SKIPPED else known


def _written(summary: SummaryDocument, known: SummaryDocument | None, ledger: Ledger) -> SummaryDocument:
    """The summary that counts: this one, or that of an earlier attempt. Raises ``LedgerBroken`` for another's."""
    if known is None and ledger.has(keys.SUMMARY):
        ledger.write(keys.SUMMARY, summary)
        return summary
    return ledger.write_once(keys.SUMMARY, summary, lambda found: found.origin == summary.origin)


def _segment_error(ledger: Ledger) -> RunError | None:
    """The error of a segment that was not listed: a Map reports only that its tolerance was exceeded."""
    for listing in (ledger, ledger.verification()):
        for key in listing.keys(keys.SEGMENTS_FAILED):
            failed = listing.read(key, SegmentFailed)
            if not listing.has(keys.segment_key(failed.segment)):
                return RunError(failed.error, failed.message)
    return None


def _pacing_notes(pace: Json) -> list[str]:
    """Notes on errors of the pacing; they do not fail the run."""
    said = {
        "pacing": "the copying was not paced to its end",
        "copying": "the pacing was not notified that all was copied",
    }
    notes = {branch: found.get("note") for branch, found in pace.items()}
    return [f"{said[branch]}: {note[:500]}" for branch, note in notes.items() if note is not None]


def _phases(ledger: Ledger, now: float) -> list[tuple[str, float, float]]:
    """Each phase with its begin and its end, which is the begin of the next one that the run reached.

    Raises ``LedgerBroken`` where the ledger does not list the begin of this state, which is in it.
    """
    begun = {key: ledger.read(key, PhaseBegan).began for key in ledger.keys("phases/")}
    if keys.phase_key("summarise") not in begun:
        raise LedgerBroken(f"the ledger does not list {keys.phase_key('summarise')}, which this task has written")
    times = [(phase, begun[keys.phase_key(phase)]) for phase in NOTED if keys.phase_key(phase) in begun]
    times.sort(key=lambda one: one[1])  # a move deletes after the verification, a sync before it
    return [(phase, began, ended) for (phase, began), (_, ended) in pairwise([*times, ("", now)])]


class Latest(Lasting, frozen=True):
    """The last run with these ends and this mode, and the one before, which a second attempt at the last run finds."""

    run: EarlierRun
    before: EarlierRun | None


def find_earlier(plan: Plan, ledger: Ledger) -> tuple[EarlierRun | None, list[str]]:
    """The run before this one, and a note if its figures cannot be read; ``None`` if none is on record."""
    try:
        latest = ledger.of_run(run_places.LATEST).find(_key(plan), Latest)
    except LedgerBroken as error:
        problem = str(error).removesuffix(f"; {START_AGAIN}")
        return None, [f"the figures of the run before cannot be read, so none are compared: {problem}"[:500]]
    if latest is None:
        return None, []
    return (latest.before if latest.run.run_id == plan.run_id else latest.run), []


def write_latest(plan: Plan, summary: SummaryDocument, ledger: Ledger) -> None:
    """Make this run the one that the next run is compared with."""
    ledger.of_run(run_places.LATEST).write(_key(plan), Latest(figures_of(summary), summary.earlier))


def _key(plan: Plan) -> str:
    request = plan.request
    return run_places.name_of(json.dumps([str(request.source), str(request.destination), request.mode.value]))
