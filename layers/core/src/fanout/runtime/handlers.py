"""From a Lambda event to a use case and back: the frame that every handler shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanout.model.document import Json
from fanout.runtime.bootstrap import make_context
from fanout.runtime.events import run_id_of, run_prefix_of
from fanout.runtime.telemetry import observed
from fanout.work.context import Context


def handle(
    state: str, event: Json, lambda_context: Any, use_case: Callable[[Context], Json], run_id: str = "", **keys: str
) -> Json:
    """Run a use case for the event's run, or for ``run_id`` before there is one."""
    run, prefix = (run_id, "") if run_id else (run_id_of(event), run_prefix_of(event))
    with observed(state, run, lambda_context, **keys) as counts:
        context = make_context(run, prefix, lambda_context.get_remaining_time_in_millis() / 1000, state)
        try:
            result = use_case(context)
        finally:
            context.release()
            context.limiter.end()
        counts.update({name: value for name, value in result.items() if name in ("count", "cursor", "failed")})
        return result
