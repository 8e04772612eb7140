"""Forecasts how long a run waits for its window to open."""

from __future__ import annotations

from fanout.request.parts.window import parse_window

# Chosen: after so many pauses the rest is taken to be as the time so far.
_PAUSES = 500


def paused_seconds(text: str, begins: float, seconds: float) -> float:
    """Seconds of pauses in so much work that begins then, in seconds since 1970; 0 without a window."""
    if not text or not seconds:
        return 0.0
    window, at, left, paused = parse_window(text), begins, seconds, 0.0
    for _ in range(_PAUSES):
        if not window.is_open(at):
            opens = window.changes_at(at)
            paused, at = paused + opens - at, opens
        closes = window.changes_at(at)
        if left <= closes - at:
            return paused
        left, at = left - (closes - at), closes
    return paused * seconds / (seconds - left)
