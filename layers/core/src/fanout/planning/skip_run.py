"""The end of a run that is skipped: the same files as of any other run, so that they are read in the same way."""

from __future__ import annotations

from typing import Any

from fanout.ledger import keys
from fanout.ledger.documents import Asked
from fanout.model.books import Books
from fanout.model.document import Json
from fanout.ports.turns import Writer
from fanout.request.plan import Plan, settings_row
from fanout.summary.summary import Skipped, Summary, summary_row, utc
from fanout.work.context import Context


def skip_run(plan: Plan, document: Any, other: Writer, began: float, context: Context) -> Json:
    """Write the request, the summary and the report of a run that does nothing; returns status, reason and holder."""
    ledger, now, request = context.ledger, context.clock.now(), plan.request
    reason = f"the run {other.run_id}, which began at {utc(other.since)}, carries out the same transfer"
    summary = Summary(
        run_id=ledger.run_id,
        source=str(request.source),
        destination=str(request.destination),
        books=Books(),
        seconds={"plan": round(now - began, 3)},
        shards=0,
        predicted_seconds=0.0,
        failures=0,
        complete_listing=True,
        began=began,
        ended=now,
        mode=request.mode.value,
        skipped=Skipped(reason, other.run_id),
    )
    # Here, because no run that goes on needs the templates' import time.
    from fanout.report.page import Findings, render_report

    row = summary_row(summary)
    ledger.write(keys.REQUEST, Asked(document))
    ledger.write_rows(keys.FAILURES, [])
    ledger.write_text(keys.REPORT, render_report(Findings(row, settings_row(plan), [], [])))
    ledger.write_json(keys.SUMMARY, row)
    return {"status": summary.status.value, "reason": reason, "holder": other.run_id}
