"""Our part of ``benchmarks.publishing``: the functions of a run, one after the other, in one process.

    python -m benchmarks.publishing_run RUN_ID REQUEST

The environment is that of a deployed function; REQUEST is JSON.
"""

from __future__ import annotations

import json
import sys

from benchmarks import s3_worker
from benchmarks.s3_engine import prepare
from fanout.model.document import Json
from fanout.runtime.bootstrap import make_context
from fanout.summary.summarise_transfer import summarise_transfer


def run(run_id: str, request: Json) -> Json:
    """Carry a run out; returns its summary."""
    prepare(request, run_id)
    s3_worker.work(run_id)
    context = make_context(run_id, "", s3_worker.SECONDS)
    summarise_transfer(None, context)
    summary: Json = context.ledger.read_json("summary.json")
    return summary


def main(arguments: list[str]) -> int:
    """Print the totals; 1 if the run did not succeed."""
    run_id, request = arguments
    summary = run(run_id, json.loads(request))
    print(json.dumps({name: summary[name] for name in ("status", "error", "notes", "totals")}))
    return 0 if summary["status"] == "SUCCEEDED" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
