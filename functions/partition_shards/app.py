"""Lambda handler of the state PartitionShards."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.handlers import handle
from fanout.steps.partition_shards import partition_shards


def handler(event: Json, context: Any) -> Json:
    """Order the shards."""
    return handle("PartitionShards", event, context, partition_shards)
