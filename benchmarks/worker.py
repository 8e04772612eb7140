"""One worker: a process of its own that runs the use case CopyShard on its own mount, as a function does.

    python -m benchmarks.worker LEDGER SOURCE MOUNT SHARD [SHARD ...]

Each SHARD is a shard's row as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from msgspec import convert

from benchmarks.directory_store import DirectoryStore
from benchmarks.machine_clock import MachineClock
from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.ledger.ledger import Ledger
from fanout.model.shard import Shard
from fanout.runtime.bootstrap import prepare_processes
from fanout.work.context import Context, EndPorts, StackPorts
from fanout.work.processes.crew import begin_crew, find_crew
from tests.support.attempts import attempt_of

RUN = "bench"
SECONDS = 3600.0


def context_of(ledger: Path, source: Path, mount: Path, nonce: str) -> Context:
    """An attempt that reads one directory and writes another."""
    ends = EndPorts(
        source=lambda _: PosixTree(source, "", RUN, nonce, "source"),
        destination=lambda _: PosixTree(mount, "copy", RUN, nonce),
        forks=lambda _: True,
    )
    return attempt_of(
        Ledger(DirectoryStore(ledger), RUN), MachineClock(), SECONDS, nonce, ends, StackPorts(crew=find_crew())
    )


def main(arguments: list[str]) -> int:
    """Copy the shards one after the other; 1 if one of them is not done."""
    begin_crew(prepare_processes)
    ledger, source, mount, *rows = arguments
    done = True
    for row in rows:
        shard = convert(json.loads(row), Shard)
        context = context_of(Path(ledger), Path(source), Path(mount), f"{shard.id}")
        done = copy_shard(shard, context)["done"] and done
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
