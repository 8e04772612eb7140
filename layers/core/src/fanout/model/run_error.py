"""Why a run broke off, from what Catch caught."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from fanout.model.errors import TASK_ERRORS

INFRASTRUCTURE = "Infrastructure"
_OWN_NAMES = frozenset(error.__name__ for error in TASK_ERRORS)


class RunError(Struct, frozen=True):
    """A name of the closed list (``TASK_ERRORS`` and ``Infrastructure``), and what it says."""

    name: str
    message: str


def run_error(caught: dict[str, Any]) -> RunError:
    """The error of ``{"Error": ..., "Cause": ...}``.

    Names of services (``States.*``, ``Lambda.*``) become ``Infrastructure``: a Fail state
    cannot end with a reserved one. The message keeps them.
    """
    name, message = str(caught.get("Error", "unknown")), cause_message(str(caught.get("Cause", "")))
    if name in _OWN_NAMES:
        return RunError(name, message)
    return RunError(INFRASTRUCTURE, f"{name}: {message}" if message else name)


def cause_message(cause: str) -> str:
    """The message inside the cause of a Lambda error (a JSON object), or the cause itself."""
    before, brace, rest = cause.partition("{")
    try:
        document = json.loads(brace + rest)
    except ValueError:
        return cause
    if isinstance(document, dict) and "errorMessage" in document:
        return f"{before}{document['errorMessage']}"
    return cause
