"""Our part of ``benchmarks.publishing``: the functions of a run, one after the other, in one process.

    python -m benchmarks.publishing_run RUN_ID REQUEST [MOUNT ...]

The environment is that of a deployed function; REQUEST is JSON. With further mounts as many functions more copy
shards, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from benchmarks import s3_worker
from benchmarks.s3_engine import MOUNT, prepare
from fanout.model.document import Json
from fanout.runtime.bootstrap import make_context
from fanout.summary.summarise_transfer import summarise_transfer


def run(run_id: str, request: Json, mounts: Sequence[str] = ()) -> Json:
    """Carry a run out; returns its summary."""
    if prepare(request, run_id):
        _copy(run_id, mounts)
    s3_worker.finish_run(run_id)
    context = make_context(run_id, "", s3_worker.SECONDS)
    summarise_transfer(None, context)
    summary: Json = context.ledger.read_json("summary.json")
    return summary


def _copy(run_id: str, mounts: Sequence[str]) -> None:
    parts = len(mounts) + 1
    others = []
    for number, mount in enumerate(mounts, 1):
        command = [sys.executable, "-m", "benchmarks.s3_worker", run_id, "--part", f"{number}/{parts}"]
        environment = os.environ | {"FANOUT_MOUNTS": json.dumps({MOUNT: mount})}
        others.append(subprocess.Popen(command, env=environment))
    s3_worker.copy_shards(run_id, 0, parts)
    if any(other.wait() for other in others):
        raise RuntimeError("a function failed")


def main(arguments: list[str]) -> int:
    """Print the totals; 1 if the run did not succeed."""
    run_id, request, *mounts = arguments
    summary = run(run_id, json.loads(request), mounts)
    print(json.dumps({name: summary[name] for name in ("status", "error", "notes", "totals")}))
    return 0 if summary["status"] == "SUCCEEDED" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
