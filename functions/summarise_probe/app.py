"""Lambda handler of the state SummariseProbe."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.probe.summarise_probe import summarise_probe
from fanout.runtime.events import field, run_id_of
from fanout.runtime.handlers import handle


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
