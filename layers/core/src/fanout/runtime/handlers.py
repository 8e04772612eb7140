"""From a Lambda event to a use case and back: the frame that every handler shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanout.model.document import Json
from fanout.runtime.bootstrap import SystemClock, make_context
from fanout.runtime.events import run_id_of, run_prefix_of, sealed_of, window_of
from fanout.runtime.telemetry import observed
from fanout.work.context import Context

UseCase = Callable[[Context], Json]


def handle(
    state: str, event: Json, lambda_context: Any, use_case: UseCase, run_id: str = "", sealed: str = "", **keys: str
) -> Json:
    """Run a use case for the event's run, or for ``run_id`` where the event is not of a run's ledger."""
    run, prefix = (run_id, "") if run_id else (run_id_of(event), run_prefix_of(event))
    sealed = sealed if run_id else sealed_of(event)
    with observed(state, run, lambda_context, **keys) as counts:
        context = make_context(run, prefix, lambda_context.get_remaining_time_in_millis() / 1000, state, sealed)
        try:
            result = use_case(context)
        finally:
            context.release()
            context.limiter.end()
        counts.update({name: value for name, value in result.items() if name in ("count", "cursor", "failed")})
        return result


def handle_in_window(
    state: str, event: Json, lambda_context: Any, use_case: UseCase, hand_back: UseCase, **keys: str
) -> Json:
    """Run a use case that works on an end of the transfer: only in the window of the run, else it ``hand_back``s.

    ``until`` of the answer says when the state machine is to go on, empty for at once.
    """
    window = window_of(event)

    def held(context: Context) -> Json:
        if not window:
            return {**use_case(context), "until": ""}
        from fanout.work.windows import held_to_window

        return held_to_window(window, context, use_case, hand_back)

    return handle(state, event, lambda_context, held, **keys)


def not_done(_context: Context) -> Json:
    """Hands back a task of which nothing is to be noted."""
    return {"done": False}


def pause_of(event: Json) -> str:
    """When the run goes on, where its window is closed; else empty."""
    window = window_of(event)
    if not window:
        return ""
    from fanout.work.windows import paused_until

    return paused_until(window, SystemClock().now())
