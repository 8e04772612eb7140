"""Lambda handler of the state SummariseTransfer."""

from __future__ import annotations

from typing import Any

from fanout.domain.ledger_keys import SUMMARY
from fanout.domain.rows import Json
from fanout.events import field, run_id_of
from fanout.handlers import handle
from fanout.steps.context import Context
from fanout.steps.summarise_transfer import summarise_transfer
from fanout.telemetry import run_ended


def handler(event: Json, context: Any) -> Json:
    """Balance the books, and measure the run by what the summary says."""
    state = field(event, "state")

    def summarise(step: Context) -> Json:
        answer = summarise_transfer(state.get("error"), step, state.get("pace"))
        run_ended(step.ledger.whole_run().read_json(SUMMARY))
        return answer

    return handle("SummariseTransfer", event, context, summarise, run_id=run_id_of(state))
