"""Lambda handler of the state VerifyShard."""

from __future__ import annotations

from typing import Any

from fanout.adapters.checksum import crc64nvme
from fanout.domain.rows import Json, shard_from_row, shard_row
from fanout.events import field
from fanout.handlers import handle
from fanout.steps.verify_shard import verify_shard


def handler(event: Json, context: Any) -> Json:
    """Verify one shard, or as much of it as there is time for."""
    shard = shard_from_row(field(event, "shard"))
    verified = handle(
        "VerifyShard", event, context, lambda step: verify_shard(shard, step, crc64nvme), shard_id=shard.id
    )
    return {"run": field(event, "run"), "shard": shard_row(shard), **verified}
