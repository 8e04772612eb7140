"""Lambda handler of the state RemoveDirectories."""

from __future__ import annotations

from typing import Any

from fanout.deleting.remove_directories import remove_directories
from fanout.model.document import Json
from fanout.runtime.events import has_broken_off
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Remove directories, or as many of them as there is time for; none in a run that broke off."""
    return handle(
        "RemoveDirectories", event, context, lambda step: remove_directories(step, broken=has_broken_off(event))
    )
