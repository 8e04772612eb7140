"""Holds a task to the window of its run: outside of it the task does nothing, and says when to go on."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fanout.model.document import Json, utc
from fanout.request.parts.window import parse_window
from fanout.work.context import Context

# Chosen: no task begins in the last minute, which is little more than it reserves to write its results.
LAST_SECONDS = 60.0
# Chosen: the clocks of two services differ by less, so that a task which is started at the opening finds it open.
OPENING_SECONDS = 2.0


def paused_until(text: str, now: float) -> str:
    """When the run of this window goes on, in ISO 8601; empty where it may work now."""
    if not text:
        return ""
    window = parse_window(text)
    opens = now
    if window.is_open(now):
        closes = window.changes_at(now)
        if closes - now > LAST_SECONDS:
            return ""
        opens = closes
    return utc(window.changes_at(opens) + OPENING_SECONDS)


def held_to_window(
    text: str, context: Context, work: Callable[[Context], Json], hand_back: Callable[[Context], Json]
) -> Json:
    """The answer of ``work``, which ends before the window closes; outside of the window that of ``hand_back``.

    ``until`` of the answer says when the state machine is to go on, empty where it need not wait.
    """
    now = context.clock.now()
    until = paused_until(text, now)
    if until:
        return {**hand_back(context), "until": until}
    closes = parse_window(text).changes_at(now)
    if closes < context.ends_at:
        context = replace(context, ends_at=closes, cut_short=True)
    return {"until": "", **work(context)}
