"""Lambda handler of the state BeginDeletion."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.handlers import handle
from fanout.steps.begin_deletion import begin_deletion


def handler(event: Json, context: Any) -> Json:
    """List what a sync deletes."""
    return handle("BeginDeletion", event, context, begin_deletion)
