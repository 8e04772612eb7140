"""Probes of a stack's file systems: started, watched, and their results brought here."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from fanout.ledger import probe_keys
from fanout.ledger.run_places import run_prefix
from fanout.model.errors import NotFound, cause_message
from fanout_cli.command_error import EXIT_FAILED, CommandError
from fanout_cli.runs.results import EXIT_INVALID_REQUEST
from fanout_cli.runs.runs import describe_run
from fanout_cli.runs.work_bucket import BucketStore, document_in, dump
from fanout_cli.stacks import Stack

ARNS = {"first": "ProbeStateMachineArn", "second": "SecondProbeStateMachineArn"}
REFUSED = ("InvalidRequest", "AccessDenied")
NO_SECOND = "the stack has no second file system to probe; deploy it with SecondAccessPointArn, or leave --second out"


def prober(stack: Stack, *, second: bool) -> Stack:
    """The same stack, with the state machine that probes one of its file systems. Raises ``CommandError``."""
    arn = stack.outputs.get(ARNS["second" if second else "first"])
    if not arn:
        raise CommandError(NO_SECOND if second else f"the stack {stack.name!r} is too old to probe; deploy it anew")
    return replace(stack, outputs={**stack.outputs, "StateMachineArn": arn})


def watch_probe(stack: Stack, probe_id: str, console: Console) -> dict[str, Any]:
    """Show how far the probe is until it ends; returns the execution's description."""
    store = BucketStore(stack.client("s3"), stack.work_bucket)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[details]}"), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("planning", total=None, details="")
        names: list[str] = []
        while (described := describe_run(stack, probe_id))["status"] == "RUNNING":
            names = names or _experiments(store, probe_id)
            done = _rounds_done(store, probe_id)
            if names:
                what = names[min(done, len(names) - 1)].replace("_", " ")
                bar.update(
                    task, description=what, total=len(names), completed=done, details=f"{done}/{len(names)} rounds"
                )
            time.sleep(max(stack.poll_seconds, 0.5))
    return described


def _experiments(store: BucketStore, probe_id: str) -> list[str]:
    """The experiment of each round; none until they are planned."""
    try:
        plan = document_in(store.get(f"{run_prefix(probe_id)}{probe_keys.PLAN}"), probe_keys.PLAN)
    except NotFound:
        return []
    return [one["experiment"] for one in plan["rounds"]]


def _rounds_done(store: BucketStore, probe_id: str) -> int:
    """The rounds of which a function has handed in what it measured."""
    prefix = f"{run_prefix(probe_id)}{probe_keys.SAMPLES}"
    return len({key.removeprefix(prefix).partition("-")[0] for key in store.list(prefix)})


def bring_probe(stack: Stack, probe_id: str, directory: Path) -> dict[str, str]:
    """Download probe.json and the page; returns their paths, none of a probe that was refused or stopped."""
    store = BucketStore(stack.client("s3"), stack.work_bucket)
    paths: dict[str, str] = {}
    for name, key in (("result", probe_keys.RESULT), ("page", probe_keys.PAGE)):
        try:
            data = store.get(f"{run_prefix(probe_id)}{key}")
        except NotFound:
            continue
        directory.mkdir(parents=True, exist_ok=True)
        (directory / key).write_bytes(data)
        paths[name] = str(directory / key)
    return paths


def show_probe(
    probe_id: str, described: Mapping[str, Any], paths: Mapping[str, str], console: Console, *, json_output: bool
) -> int:
    """Print what came of the probe; returns the exit status."""
    error = None
    if described["status"] != "SUCCEEDED":
        name = described.get("error") or described["status"]
        error = {"name": name, "message": cause_message(described.get("cause") or "")}
        console.print(f"{name}: {error['message']}", style="red", markup=False, highlight=False, soft_wrap=True)
    document = document_in(Path(paths["result"]).read_bytes(), probe_keys.RESULT) if "result" in paths else {}
    if json_output:
        answer = {
            "probe_id": probe_id,
            "status": described["status"],
            "error": error,
            "calibration": document.get("calibration"),
            "paths": {key: paths.get(key) for key in ("result", "page")},
        }
        sys.stdout.write(dump(answer) + "\n")
    for what in paths.values():
        console.print(what, markup=False, highlight=False, soft_wrap=True)
    if error is None:
        return 0
    return EXIT_INVALID_REQUEST if error["name"] in REFUSED else EXIT_FAILED
