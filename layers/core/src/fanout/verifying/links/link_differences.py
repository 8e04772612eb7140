"""Names that are grouped with others at one end and not at the other, read from the shards of names."""

from __future__ import annotations

from fanout.ledger.ledger import Ledger
from fanout.model.shard import Shard

# The prefix of the ids of shards of names.
NAME_SHARDS = "names-"


def link_differences(shard: Shard, ledger: Ledger) -> dict[str, str]:
    """How the names of a shard are grouped differently, by path; empty for a shard of other entries."""
    if not shard.id.startswith(NAME_SHARDS):
        return {}
    return {row[0]: row[-1] for row in ledger.read_rows(shard.key) if row[-1]}
