"""How much longer does PaceCopy make a short run? From the histories of real runs on the local emulator.

    python -m benchmarks.pacing_end [--runs N] [--long N]

Each run copies a few hundred small files within one mount in several shards, so that PaceCopy runs beside the Map; the
long ones are held to a rate, so that they take more than the minute in which PaceCopy looks every second; one run has a
single shard, which is not paced. A row is what the Map took, how long after its end (of which Step
Functions tells) the note of it stood in the ledger, and when the Parallel state that both are branches of had ended.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from fanout.ledger.keys import COPIED
from fanout.ledger.ledger import Ledger
from fanout_cli.runs.local_run import LocalOptions, LocalRuns, local_runs
from fanout_cli.runs.work_bucket import BucketStore

FILES, FILE_BYTES = 400, 20_000
# What is asked for: seconds that a short run may take longer.
MOST_SECONDS = 15.0
# The limits of a request by the kind of run.
KINDS = {
    "paced": {"shard_seconds": 0.1},
    "long": {"shard_seconds": 0.1, "files_per_second": 6},
    "single": {"shard_seconds": 60.0},
}


@dataclass(frozen=True, slots=True)
class End:
    """Seconds that the Map took, and from its end to the note of it (``None`` without one) and to the state's end."""

    map_seconds: float
    noted: float | None
    state_ended: float


def end_of(runs: LocalRuns, arn: str, run_id: str) -> End:
    """The end of the copying of a run. The emulator's history leaves out what is inside of a branch."""
    client = runs.stack.clients.stepfunctions
    (found,) = client.list_map_runs(executionArn=arn)["mapRuns"]
    map_run = client.describe_map_run(mapRunArn=found["mapRunArn"])
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn)
    (left,) = [event for page in pages for event in page["events"] if event["type"] == "ParallelStateExited"]
    ended = map_run["stopDate"].timestamp()
    ledger = Ledger(BucketStore(runs.stack.clients.s3, runs.stack.work_bucket), run_id)
    note = ledger.find(COPIED)
    return End(
        ended - map_run["startDate"].timestamp(),
        None if note is None else note.at - ended,
        left["timestamp"].timestamp() - ended,
    )


def measure(runs: LocalRuns, name: str, number: int) -> End:
    """One run of a kind."""
    request = {"source": "efs:///in", "destination": f"efs:///{name}-{number}", "limits": KINDS[name]}
    result = runs.run(request, name)
    if result.status != "SUCCEEDED":
        raise RuntimeError(f"{name} ended as {result.status}")
    run_id = result.run_id or ""
    return end_of(runs, execution_of(runs, run_id), run_id)


def execution_of(runs: LocalRuns, run_id: str) -> str:
    """The ARN of a run."""
    machine: str = runs.stack.outputs["StateMachineArn"]
    return f"{machine.replace(':stateMachine:', ':execution:')}:{run_id}"


def main(arguments: list[str]) -> int:
    """Print a row a run; 1 where one took more than ``MOST_SECONDS`` longer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--long", type=int, default=1)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        mount = Path(place)
        (mount / "in").mkdir()
        for number in range(FILES):
            (mount / "in" / f"f{number:04d}").write_bytes(b"x" * FILE_BYTES)
        ends = []
        with local_runs(LocalOptions({"data": mount}), Console(stderr=True), mount / "state") as runs:
            print("| run | Map, s | noted after, s | state ended after, s |\n|---|---|---|---|")
            for number, name in enumerate([*["paced"] * given.runs, *["long"] * given.long, "single"]):
                ends.append(measure(runs, name, number))
                one = ends[-1]
                cells = [one.map_seconds, one.noted, one.state_ended]
                shown = " | ".join("" if cell is None else f"{cell:.2f}" for cell in cells)
                print(f"| {name} | {shown} |", flush=True)
    return int(max(one.state_ended for one in ends) > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
