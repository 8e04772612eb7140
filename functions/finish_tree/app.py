"""Lambda handler of the state FinishTree."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.events import deletes_later
from fanout.handlers import handle
from fanout.steps.finish_tree import finish_tree


def handler(event: Json, context: Any) -> Json:
    """Finish the destination."""
    return handle("FinishTree", event, context, lambda step: finish_tree(step, deletes=deletes_later(event)))
