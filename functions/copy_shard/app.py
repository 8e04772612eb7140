"""Lambda handler of the state CopyShard."""

from __future__ import annotations

from typing import Any

from fanout.adapters.checksum import crc64nvme
from fanout.domain.rows import Json, shard_row
from fanout.events import copy_event
from fanout.handlers import handle
from fanout.steps.copy_shard import copy_shard


def handler(event: Json, context: Any) -> Json:
    """Copy one shard, or as much of it as there is time for; hands back where it stands."""
    task = copy_event(event)
    copied = handle(
        "CopyShard", event, context, lambda step: copy_shard(task.shard, step, crc64nvme), shard_id=task.shard.id
    )
    return {"run": task.run, "shard": shard_row(task.shard), **copied}
