"""One function's work in the S3 benchmark: every shard of a run by CopyShard, then FinishTree, which publishes too.

    python -m benchmarks.s3_worker RUN_ID [--profile FILE | --part NUMBER/PARTS | --whole REQUEST]

With ``--part`` only that part of the shards, and no end: other processes copy the rest. With ``--whole`` a run from
its plan to its summary, in this one process: the definition walked through the handlers, one task after the other.

The environment is that of a deployed function.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine_clock import MachineClock
from benchmarks.own_execution import OwnExecution
from fanout.flow.steps import STEPS
from fanout.flow.walker import Walker, never
from fanout.ledger import run_places
from fanout.runtime import bootstrap
from fanout.runtime.bootstrap import make_context
from fanout.runtime.clients import settings
from fanout.shards.partitioned import SHARDS
from fanout.work.processes.crew import find_crew

ROOT = Path(__file__).parents[1]
FUNCTIONS, MACHINE = ROOT / "functions", ROOT / "statemachine/transfer.asl.json"
SECONDS = 880.0


class LambdaContext:
    """What the handlers use of Lambda's context."""

    aws_request_id = "bench"

    def __init__(self) -> None:
        self._ends_at = time.monotonic() + SECONDS

    def get_remaining_time_in_millis(self) -> int:
        """See Lambda's context."""
        return int((self._ends_at - time.monotonic()) * 1000)


def handler_of(function: str) -> Any:
    """The handler in a function's folder."""
    spec = importlib.util.spec_from_file_location(function, FUNCTIONS / function / "app.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.handler


def work(run_id: str) -> None:
    """Every shard until it is done, then the end of the tree, and of a run that publishes the switch."""
    copy_shards(run_id)
    finish_run(run_id)


def copy_shards(run_id: str, part: int = 0, parts: int = 1) -> None:
    """Every shard of a part of them, one after the other."""
    copy, run = handler_of("copy_shard"), _reference(run_id)
    for row in make_context(run_id, "", SECONDS).ledger.read_json(SHARDS)[part::parts]:
        event = {"step": "CopyShard", "run": run, "shard": row["shard"], "cursor": 0}
        while not event.get("done"):
            event = {"step": "CopyShard", **copy(json.loads(json.dumps(event)), LambdaContext())}


def finish_run(run_id: str) -> None:
    """The end of the tree, and of a run that publishes the switch."""
    run = _reference(run_id)
    finish = handler_of("finish_tree")
    finished = {"done": False}
    while not finished["done"]:  # a round counts as mapped, so FinishTree carries it out itself
        event = {"step": "FinishTree", "run": run, "state": {"run": run, "finish": finished}}
        finished = finish(event, LambdaContext())
    published = {"done": not run["publishes"]}
    while not published["done"]:
        published = finish({"step": "PublishVersion", "run": run, "state": {"run": run}}, LambdaContext())


def whole(run_id: str, request: dict[str, Any]) -> None:
    """A run of a request from its plan to its summary. Raises unless it succeeded."""
    machine = json.loads(MACHINE.read_text(encoding="utf-8"))
    handlers: dict[str, Any] = {}
    own = OwnExecution(run_id, settings().state_machine, request)
    bootstrap.make_executions = lambda: own  # type: ignore[assignment]

    def invoke(function: str, event: dict[str, Any]) -> Any:
        if event["step"] in ("PaceCopy", "EndPacing"):  # there is no Map to look at
            return {"run": event["run"], "shards": event["shards"], "done": True, "until": ""}
        own.enter(event)
        name = STEPS[event["step"]].function
        if name not in handlers:
            handlers[name] = handler_of(re.sub("(?<!^)([A-Z])", r"_\1", name).lower())
        return json.loads(json.dumps(handlers[name](json.loads(json.dumps(event)), LambdaContext())))

    def items(_bucket: str, key: str) -> Any:
        ledger = make_context(run_id, "", SECONDS).ledger
        return ledger.read_json(key.removeprefix(ledger.prefix))

    execution = {"Id": f"arn:aws:states:us-east-1:123456789012:execution:fanout:{run_id}", "Name": run_id}
    walker = Walker(machine, invoke, items, MachineClock(), execution, never)
    summary = walker.walk(machine["StartAt"], request, {"TransferSucceeded?"})[1]["summary"]
    if summary["status"] != "SUCCEEDED":
        raise RuntimeError(json.dumps(summary))


def _reference(run_id: str) -> dict[str, Any]:
    plan = make_context(run_id, "", SECONDS).ledger.read_plan()
    return {"id": run_id, "prefix": run_places.run_prefix(run_id), "publishes": bool(plan.version)}


def main(arguments: list[str]) -> int:
    """Do the work of the run that is named."""
    handler_of("short_way")  # first: the crew begins before any thread, as in the function that copies
    if arguments[1:2] == ["--profile"]:
        import cProfile

        profile = cProfile.Profile()
        profile.runcall(work, arguments[0])
        profile.dump_stats(arguments[2])
        return 0
    if arguments[1:2] == ["--whole"]:
        whole(arguments[0], json.loads(arguments[2]))
    elif arguments[1:2] == ["--part"]:
        part, _, parts = arguments[2].partition("/")
        copy_shards(arguments[0], int(part), int(parts))
    else:
        work(arguments[0])
    crew = find_crew()
    if crew is not None:
        crew.close()  # only then the kernel adds the time of its processes to this one's
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
