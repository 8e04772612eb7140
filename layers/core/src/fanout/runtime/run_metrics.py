"""Emits the metrics of a run that has ended."""

from __future__ import annotations

from fanout.books.summary_document import SUMMARY
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.runtime.telemetry import run_ended
from fanout.summary.metrics import run_metrics


def run_summarised(_answer: Json, ledger: Ledger) -> None:
    """Measure a run by what its summary says."""
    summary = ledger.whole_run().read(SUMMARY)
    run_ended(summary.run_id, summary.status.value, run_metrics(summary))
