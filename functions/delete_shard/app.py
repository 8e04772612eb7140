"""Lambda handler of the states DeleteShard and LookAtSource."""

from __future__ import annotations

from typing import Any

from msgspec import convert, to_builtins

from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.source_looks import look_at_shard, none_looked_at
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.runtime.events import End, end_of, field
from fanout.runtime.handlers import handle_in_window, not_done
from fanout.work.context import Context

USE_CASES = {End.BOTH: ("DeleteShard", delete_shard), End.SOURCE: ("LookAtSource", look_at_shard)}


def handler(event: Json, context: Any) -> Json:
    """Delete the extras of one shard, or look for them at the source, or as much of it as there is time for."""
    shard = convert(field(event, "shard"), Shard)
    state, use_case = USE_CASES[end_of(event)]

    def hand_back(step: Context) -> Json:
        return none_looked_at(shard, step) if end_of(event) is End.SOURCE else not_done(step)

    deleted = handle_in_window(state, event, context, lambda step: use_case(shard, step), hand_back, shard_id=shard.id)
    return {"run": field(event, "run"), "shard": to_builtins(shard), **deleted}
