"""The summary and the report of a run that does nothing, because another one carries out the same transfer."""

from __future__ import annotations

from typing import Any

from fanout.books.summary_document import SUMMARY, Skipped, Status, SummaryDocument, totals_of
from fanout.ledger import keys
from fanout.ledger.documents import RawRequest
from fanout.model.books import Books
from fanout.model.document import Json, utc
from fanout.ports.turns import Writer
from fanout.request.plan import Plan, settings_row
from fanout.work.context import Context


def skip_run(plan: Plan, document: Any, other: Writer, began: float, context: Context) -> Json:
    """Write the request, the summary and the report of a run that does nothing; returns status, reason and holder."""
    from fanout.report.page import Findings, render_report  # no other plan needs the templates' import time

    ledger, now, request = context.ledger, context.clock.now(), plan.request
    reason = f"the run {other.run_id}, which began at {utc(other.since)}, carries out the same transfer"
    summary = SummaryDocument(
        run_id=ledger.run_id,
        status=Status.SKIPPED,
        mode=request.mode,
        began=utc(began),
        ended=utc(now),
        source=str(request.source),
        destination=str(request.destination),
        totals=totals_of(Books()),
        seconds={"plan": round(now - began, 3)},
        skipped=Skipped(reason, other.run_id),
        origin=plan.origin,
    )
    ledger.write(keys.REQUEST, RawRequest(document))
    ledger.write_rows(keys.FAILURES, [])
    ledger.write_text(keys.REPORT, render_report(Findings(summary, settings_row(plan), [], [])))
    ledger.write(SUMMARY, summary)  # not for good: the plan may come again, and its turn have come
    return {"status": summary.status.value, "reason": reason, "holder": other.run_id}
