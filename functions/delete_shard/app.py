"""Lambda handler of the state DeleteShard."""

from __future__ import annotations

from typing import Any

from fanout.deleting.delete_shard import delete_shard
from fanout.ledger.rows import shard_from_row, shard_row
from fanout.model.document import Json
from fanout.runtime.events import field
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Delete the extras of one shard, or as much of it as there is time for."""
    shard = shard_from_row(field(event, "shard"))
    deleted = handle("DeleteShard", event, context, lambda step: delete_shard(shard, step), shard_id=shard.id)
    return {"run": field(event, "run"), "shard": shard_row(shard), **deleted}
