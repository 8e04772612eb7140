"""Lambda handler of the state RemoveDirectories."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.handlers import handle
from fanout.steps.remove_directories import remove_directories


def handler(event: Json, context: Any) -> Json:
    """Remove directories, or as many of them as there is time for."""
    return handle("RemoveDirectories", event, context, remove_directories)
