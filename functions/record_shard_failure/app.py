"""Lambda handler of the state RecordShardFailure."""

from __future__ import annotations

from typing import Any

from fanout.copying.record_shard_failure import record_shard_failure
from fanout.model.document import Json
from fanout.runtime.events import copy_event
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Give the entries of a failed shard their outcomes."""
    task = copy_event(event)
    return handle(
        "RecordShardFailure",
        event,
        context,
        lambda step: record_shard_failure(task.shard, task.error, step),
        shard_id=task.shard.id,
    )
