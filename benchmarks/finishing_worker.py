"""One worker of ``benchmarks.finishing``: runs the use case FinishShard on its own mount, as a function does.

    python -m benchmarks.finishing_worker LEDGER SOURCE MOUNT < SHARDS

SHARDS is a JSON list of the shards' rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from msgspec import convert

from benchmarks.worker import context_of
from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard


def main(arguments: list[str]) -> int:
    """Finish the shards one after the other."""
    ledger, source, mount = map(Path, arguments)
    for shard in convert(json.load(sys.stdin), list[FinishShard]):
        while not finish_shard(shard, context_of(ledger, source, mount, shard.id))["done"]:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
