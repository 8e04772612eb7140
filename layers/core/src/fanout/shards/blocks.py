"""Receipts of blocks that could not be copied."""

from __future__ import annotations

from fanout.model.errors import ItemError
from fanout.model.shard import Receipt


def failed_block(index: int, error: ItemError) -> Receipt:
    """The receipt of a block that could not be copied."""
    return Receipt(index, reason=error.reason, message=error.message)
