"""Lambda handler of the state SummariseTransfer."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.events import field, run_id_of
from fanout.handlers import handle
from fanout.steps.summarise_transfer import summarise_transfer


def handler(event: Json, context: Any) -> Json:
    """Balance the books."""
    state = field(event, "state")
    return handle(
        "SummariseTransfer",
        event,
        context,
        lambda step: summarise_transfer(state.get("error"), step),
        run_id=run_id_of(state),
    )
