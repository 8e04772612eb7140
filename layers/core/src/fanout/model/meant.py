"""The question that follows a name that there is not: which of those that there are may be meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(typed: str, known: Iterable[str]) -> str:
    """The known name that is closest to what was typed; empty where none is close."""
    return next(iter(get_close_matches(typed, list(known), 1)), "")


def did_you_mean(*names: str) -> str:
    """The question, with a space behind it; empty without a name."""
    said = ", ".join(name for name in names if name)
    return f"did you mean {said}? " if said else ""
