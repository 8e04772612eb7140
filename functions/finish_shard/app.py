"""Lambda handler of the state FinishShard."""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard
from fanout.model.document import Json
from fanout.runtime.events import field
from fanout.runtime.handlers import handle_in_window, not_done


def handler(event: Json, context: Any) -> Json:
    """Finish what one shard holds, or as much of it as there is time for."""
    shard = convert(field(event, "shard"), FinishShard)
    finished = handle_in_window(
        "FinishShard", event, context, lambda step: finish_shard(shard, step), not_done, shard_id=shard.id
    )
    return {"run": field(event, "run"), "shard": to_builtins(shard), **finished}
