"""Lambda handler of the state SummariseTransfer."""

from __future__ import annotations

from typing import Any

from fanout.books.summary_document import SummaryDocument
from fanout.ledger.keys import SUMMARY
from fanout.model.document import Json
from fanout.runtime.events import field, run_id_of, sealed_of
from fanout.runtime.handlers import handle
from fanout.runtime.telemetry import run_ended
from fanout.summary.metrics import run_metrics
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.work.context import Context


def handler(event: Json, context: Any) -> Json:
    """Balance the books, and measure the run by what the summary says."""
    state = field(event, "state")

    def summarise(step: Context) -> Json:
        answer = summarise_transfer(state.get("error"), step, state.get("pace"))
        summary = step.ledger.whole_run().read(SUMMARY, SummaryDocument)
        run_ended(summary.run_id, summary.status.value, run_metrics(summary))
        return answer

    return handle("SummariseTransfer", event, context, summarise, run_id=run_id_of(state), sealed=sealed_of(state))
