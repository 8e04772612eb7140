"""Lambda handler of the state DeleteShard."""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from fanout.deleting.delete_shard import delete_shard
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.runtime.events import field
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Delete the extras of one shard, or as much of it as there is time for."""
    shard = convert(field(event, "shard"), Shard)
    deleted = handle("DeleteShard", event, context, lambda step: delete_shard(shard, step), shard_id=shard.id)
    return {"run": field(event, "run"), "shard": to_builtins(shard), **deleted}
