"""Lambda handler of the states RemoveDirectories and LookAtDirectories."""

from __future__ import annotations

from typing import Any

from fanout.deleting.remove_directories import remove_directories
from fanout.deleting.source_looks import look_at_directories
from fanout.model.document import Json
from fanout.runtime.events import End, end_of, has_broken_off
from fanout.runtime.handlers import handle_in_window, not_done
from fanout.work.context import Context


def handler(event: Json, context: Any) -> Json:
    """Remove directories, or as many of them as there is time for; none in a run that broke off.

    At the source's end, look for them there.
    """
    if end_of(event) is End.SOURCE:
        return handle_in_window("LookAtDirectories", event, context, look_at_directories, not_done)

    def remove(step: Context) -> Json:
        return remove_directories(step, broken=has_broken_off(event))

    return handle_in_window("RemoveDirectories", event, context, remove, not_done)
