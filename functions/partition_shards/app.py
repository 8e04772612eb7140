"""Lambda handler of the state PartitionShards."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.partition.partition_shards import partition_shards
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Order the shards."""
    return handle("PartitionShards", event, context, partition_shards)
