"""Removes what a self-test made: active runs, trees on EFS, objects.

The ledgers of its runs stay until they expire: only the stack's roles may delete in the work bucket, and none does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from fanout.model.errors import FanoutError, cause_message
from fanout.runtime.selftest_removal import FIELD, MARK
from fanout_cli.command_error import CommandError, human_errors
from fanout_cli.doctor.inside import functions
from fanout_cli.runs.listed import list_runs
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.runs.runs import describe_run, result_of_run, start_run, stop_run
from fanout_cli.selftest.cases import SelftestPlace, removal_requests
from fanout_cli.selftest.data_sets import DataSets, remove_prefix
from fanout_cli.selftest.data_sizes import PROFILES
from fanout_cli.stacks import Stack

RUNS_LOOKED_AT = 1000


def remove_all(stack: Stack, place: SelftestPlace) -> list[str]:
    """Remove it; returns a sentence for each thing that could not be removed. May be called again."""
    steps: tuple[Callable[[], object], ...] = (
        lambda: _stop_runs(stack, place),
        lambda: _remove_from_efs(stack, place),
        lambda: remove_prefix(stack.client("s3"), place.bucket, f"{place.name}/"),
    )
    left: list[str] = []
    for step in steps:
        try:
            with human_errors():
                step()
        except (CommandError, FanoutError) as error:
            left.append(str(error))
    return left


def run_to_end(stack: Stack, run_id: str) -> str:
    """Wait for a run; returns the status of its execution."""
    while (status := str(describe_run(stack, run_id)["status"])) == "RUNNING":
        time.sleep(stack.poll_seconds)
    return status


def _stop_runs(stack: Stack, place: SelftestPlace) -> None:
    for run in list_runs(stack, RUNS_LOOKED_AT):
        if run.run_id.startswith(f"{place.name}-"):
            stop_run(stack, run.run_id)


def _remove_from_efs(stack: Stack, place: SelftestPlace) -> None:
    """Empty the directory by a sync, then have ExamineNetwork remove it."""
    DataSets(stack.client("s3"), place, PROFILES["small"]).mark(MARK)
    for request in removal_requests(place):
        run_id = start_run(stack, request, new_run_id(f"{place.name}-removal"))
        run_to_end(stack, run_id)
        result = result_of_run(stack, run_id, describe_run(stack, run_id))
        if result.exit_status:
            said = result.error["message"] if result.error else result.status
            raise CommandError(f"{place.efs()} is not removed: the run {run_id}: {said}")
    names = functions(stack)
    if not names:
        raise CommandError(f"{place.efs()} is left: the stack has no function ExamineNetwork")
    answer = stack.client("lambda").invoke(
        FunctionName=names[0], Payload=json.dumps({"step": "RemoveSelftest", FIELD: place.name}).encode()
    )
    payload = answer["Payload"].read().decode()
    why = cause_message(payload) if answer.get("FunctionError") else json.loads(payload)["error"]
    if why:
        raise CommandError(f"{place.efs()} is left: {why}")
