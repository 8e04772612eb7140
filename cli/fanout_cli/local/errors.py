"""Errors of the local stack itself, as opposed to the transfer."""

from __future__ import annotations

from pathlib import Path

TAIL_LINES = 25


class LocalRunError(Exception):
    """The local run cannot start or go on; the message says what to do."""


def tail(log: Path) -> str:
    """The last lines of a log, to end a message with."""
    if not log.is_file():
        return "(no log)"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-TAIL_LINES:]) or "(the log is empty)"
