"""Lambda handler of the state SummariseProbe."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.events import field, run_id_of
from fanout.handlers import handle
from fanout.steps.summarise_probe import summarise_probe


def handler(event: Json, context: Any) -> Json:
    """Write probe.json and its page."""
    state = field(event, "state")
    return handle(
        "SummariseProbe",
        event,
        context,
        lambda step: summarise_probe(step, state.get("error", {})),
        run_id=run_id_of(state),
    )
