"""Lambda handler of the states RemoveDirectories and LookAtDirectories."""

from __future__ import annotations

from typing import Any

from fanout.deleting.remove_directories import remove_directories
from fanout.deleting.source_looks import look_at_directories
from fanout.model.document import Json
from fanout.runtime.events import End, end_of, has_broken_off
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Remove directories, or as many of them as there is time for; none in a run that broke off.

    At the source's end, look for them there.
    """
    if end_of(event) is End.SOURCE:
        return handle("LookAtDirectories", event, context, look_at_directories)
    return handle(
        "RemoveDirectories", event, context, lambda step: remove_directories(step, broken=has_broken_off(event))
    )
