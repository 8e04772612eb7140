"""Lambda handler of the states CopyShard, PackShard and UnpackShard."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from fanout.copying.copy_shard import copy_shard
from fanout.model.document import Json
from fanout.runtime.events import End, copy_event, end_of
from fanout.runtime.handlers import handle_in_window
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import UNPACK, unpack_shard

USE_CASES = {
    End.BOTH: ("CopyShard", copy_shard),
    End.SOURCE: ("PackShard", pack_shard),
    End.DESTINATION: ("UnpackShard", unpack_shard),
}


def handler(event: Json, context: Any) -> Json:
    """Copy one shard, or stage it, or write what is staged, as far as there is time; hands back where it stands."""
    task = copy_event(event)
    state, use_case = USE_CASES[end_of(event)]
    stands = {"cursor": task.cursor, "done": False, "next": UNPACK}
    copied = handle_in_window(
        state, event, context, lambda step: use_case(task.shard, step), lambda _: stands, shard_id=task.shard.id
    )
    return {"run": task.run, "shard": to_builtins(task.shard), **copied}
