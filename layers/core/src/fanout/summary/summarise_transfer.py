"""SummariseTransfer: balances the books from the ledger alone and writes what people and programs read."""

from __future__ import annotations

from msgspec.structs import replace

from fanout.books.ending import Ending, shards_done, warnings_of
from fanout.books.run_activity import listed_sizes, matched_globs, tasks_done
from fanout.books.summary_document import SUMMARY, Status, SummaryDocument, totals_of
from fanout.forecast.run_forecast import forecast_and_actual
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.listing.index.earlier_index import name_index, no_index_note, write_index
from fanout.model.document import Json, utc
from fanout.model.outcome import Result
from fanout.pacing.pace_copy import decisions
from fanout.request.plan import settings_row
from fanout.request.request import Request
from fanout.shards.entry_report import report_done
from fanout.summary.endings import ending_of
from fanout.summary.issue_certificate import Issuing, RunTimes, issue_certificate
from fanout.summary.notes import notes_of
from fanout.summary.run_facts import RunFacts, write_latest
from fanout.turns.withdrawal import owes_nothing
from fanout.verifying.compared_big_files import compared_big_files
from fanout.work.context import Context


def summarise_transfer(caught: Json | None, context: Context, pace: Json | None = None) -> Json:
    """Balance the books, write failures.jsonl, issue the certificate, write summary.json and report.html.

    Returns status, error and cause.

    ``caught`` is the error that broke the run off, as Catch hands it on; ``pace`` what the pacing could not do.
    """
    context.ledger.begin_last("summarise", context.clock.now())
    with RunFacts(caught, context) as facts:
        facts.ahead()
        _add_failures(facts)
        notes = notes_of(facts, pace or {})
        facts.failures.close()
        times = RunTimes(utc(facts.phases[0][1]), utc(facts.now))
        ending = ending_of(facts)
        certificate = issue_certificate(facts.plan, ending, totals_of(ending.books), times, context)
        if certificate.error is not None:
            ending = replace(ending, error=certificate.error)
        summary = _document(facts, ending, times, certificate, notes)
        summary = _written(summary, ending, facts)
        _hand_over(summary, facts)
    name, cause = ("", "") if summary.error is None else (summary.error.name, summary.error.message)
    cause = f"{name}: {cause}" if ending.error is not None else cause
    return {"status": summary.status.value, "error": name, "cause": cause[:1000]}


def _add_failures(facts: RunFacts) -> None:
    """Write what the books do not hold after what they do."""
    error, verification = facts.error, facts.verification
    differences = verification.failures_of(facts.plan) if verification else []
    phases = {"finish": [*facts.unset.values()], "delete": facts.deleted.failures, "verify": differences}
    for phase, outcomes in phases.items():
        for outcome in outcomes:
            facts.failures.add(outcome, phase)
    if facts.plan.request.course.compares and error is None:
        big_files = (one.outcome for one in compared_big_files(facts.ledger))
        report_done(facts.plan, facts.ledger, "verify", "big-files", big_files)


def _document(
    facts: RunFacts, ending: Ending, times: RunTimes, certificate: Issuing, notes: list[str]
) -> SummaryDocument:
    plan, ledger, found, books = facts.plan, facts.ledger, facts.books, ending.books
    notes = [*notes, *certificate.notes]
    whole = ending.status is Status.SUCCEEDED
    if not whole:
        kept = books.by_result[Result.UNCHANGED].entries + books.by_result[Result.COPIED].entries
        notes += no_index_note(plan, ledger, kept)
    forecast = forecast_and_actual(plan, books, facts.activities, facts.seconds, ledger, facts.now, whole=whole)
    if forecast is not None and forecast.finish is not None and forecast.finish.outcome:
        notes.append(f"limits.finish_by: {forecast.finish.outcome}")
    earlier, unread = facts.earlier
    is_warned = ending.error is None and not plan.request.course.goes_back
    return SummaryDocument(
        run_id=ledger.run_id,
        status=ending.status,
        error=ending.reported,
        mode=plan.request.mode,
        began=times.began,
        ended=times.ended,
        source=str(plan.request.source),
        destination=str(plan.request.destination),
        totals=totals_of(books),
        balanced=ending.balanced,
        complete_listing=found.complete,
        seconds=facts.seconds,
        shards=shards_done(len(found.shards), sum(shard.seconds for shard in found.shards), found.shard_seconds),
        tasks=[tasks_done(activity) for activity in facts.activities],
        sizes=listed_sizes(ledger),
        failures=facts.failures.count,
        failures_by_class=[one for one, _ in facts.failures.classes.most_first()],
        verification=facts.verified,
        certificate=certificate.issued,
        published=facts.published,
        planned=facts.planned,
        forecast=forecast,
        origin=plan.origin,
        earlier=earlier,
        warnings=warnings_of(plan.request, books, matched_globs(ledger)) if is_warned else [],
        notes=notes + unread,
    )


def _written(summary: SummaryDocument, ending: Ending, facts: RunFacts) -> SummaryDocument:
    """Write report and summary; returns the summary that counts: this one, or that of an earlier attempt.

    Raises ``LedgerBroken`` for another run's.
    """
    plan, ledger = facts.plan, facts.ledger
    known = _earlier(ledger)
    if known is None:  # else the report of that attempt is there, and shows what its summary says
        ledger.write_text(keys.REPORT, _page(summary, ending, facts))
    if (known or summary).status is Status.SUCCEEDED:
        write_index(plan, ledger, facts.phases[0][1], facts.now)
    if known is None and ledger.has(SUMMARY):
        ledger.write(SUMMARY, summary)
        return summary
    return ledger.write_once(SUMMARY, summary, lambda found: found.origin == summary.origin)


def _page(summary: SummaryDocument, ending: Ending, facts: RunFacts) -> str:
    from fanout.report.page import Findings, render_report
    from fanout.summary.named_entries import named_entries

    plan, ledger, deleted = facts.plan, facts.ledger, facts.deleted.results[Result.DELETED]
    plain = replace(plan, request=Request(source=plan.request.source, destination=plan.request.destination))
    findings = Findings(
        summary,
        settings_row(plan),
        facts.failures.classes.most_first(),
        facts.activities,
        decisions(ledger),
        named_entries(plan, ledger, facts.planned, ending.error, deleted),
        ledger.find_json(keys.REQUEST),
        settings_row(plain),
    )
    return render_report(findings)


def _hand_over(summary: SummaryDocument, facts: RunFacts) -> None:
    """Make this run the last one of its kind, and end its turn."""
    plan, ledger, turns = facts.plan, facts.ledger, facts.context.turns
    writing = facts.meanwhile(lambda: write_latest(plan, summary, ledger))
    if summary.status is Status.SUCCEEDED:
        name_index(plan, ledger)
    if turns is not None and owes_nothing(plan, ledger):
        turns.release(plan)  # else the next run takes it out, and fences
    writing.result()


def _earlier(ledger: Ledger) -> SummaryDocument | None:
    """The summary of an earlier attempt; none where the plan came again when its turn had come."""
    known = ledger.find(SUMMARY)
    return None if known is None or known.status is Status.SKIPPED else known
