"""Lambda handler of the state BeginDeletion."""

from __future__ import annotations

from typing import Any

from fanout.deleting.begin_deletion import begin_deletion
from fanout.model.document import Json
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """List what a sync deletes."""
    return handle("BeginDeletion", event, context, begin_deletion)
