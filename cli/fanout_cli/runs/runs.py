"""Runs of a stack: starting, describing, stopping and listing them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from fanout.books.summary_document import Status
from fanout.ledger.keys import FAILURES, PLAN, REQUEST, SUMMARY
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.model.errors import InvalidRequest, LedgerBroken, NotFound
from fanout_cli.command_error import CommandError, code_of
from fanout_cli.loudness import is_verbose
from fanout_cli.runs.ending import so_far
from fanout_cli.runs.results import FIRST, RunResult, failed_paths, result_of_summary
from fanout_cli.runs.run_ids import check_run_id, new_run_id
from fanout_cli.runs.work_bucket import BucketStore, document_in
from fanout_cli.stacks import Stack

# The status of a run that closed no books, and whose execution nobody remembers.
FORGOTTEN = "ABORTED"


def start_run(stack: Stack, request: Any, run_id: str = "") -> str:
    """Start an execution; returns the run's id. Raises ``CommandError``."""
    from botocore.exceptions import ClientError

    run_id = run_id or new_run_id(str(request.get("mode", "copy")) if isinstance(request, dict) else "run")
    check_run_id(run_id)
    try:
        stack.client("stepfunctions").start_execution(
            stateMachineArn=stack.state_machine_arn, name=run_id, input=json.dumps(request)
        )
    except ClientError as error:
        if code_of(error) == "ExecutionAlreadyExists":
            raise CommandError(f"there is a run {run_id!r} already; choose another --name") from error
        raise
    return run_id


def describe_run(stack: Stack, run_id: str) -> dict[str, Any]:
    """Status, error and cause of a run's execution. Raises ``CommandError`` if there is no such run.

    Step Functions forgets an execution after 90 days, and the emulator when it ends; then the ledger tells.
    """
    from botocore.exceptions import ClientError

    try:
        described: dict[str, Any] = stack.client("stepfunctions").describe_execution(
            executionArn=stack.execution_arn(run_id)
        )
    except ClientError as error:
        if code_of(error) in ("ExecutionDoesNotExist", "InvalidArn", "ValidationException"):
            by_ledger = _described_by_ledger(stack, run_id)
            if by_ledger is None:
                shows = f"`fanout list {stack.option}` shows the runs"
                raise CommandError(f"no run {run_id!r} in the stack {stack.name!r}; {shows}") from error
            return by_ledger
        raise
    return described


def describe_ended(stack: Stack, run_id: str) -> dict[str, Any]:
    """See ``describe_run``. Raises ``CommandError`` if the run goes on too."""
    described = describe_run(stack, run_id)
    if described["status"] == "RUNNING":
        raise CommandError(f"{run_id} still runs; wait for it, or stop it first: {stack.command('stop', run_id)}")
    return described


def _described_by_ledger(stack: Stack, run_id: str) -> dict[str, Any] | None:
    """An execution as the ledger of its run tells of it; ``None`` without a ledger."""
    summary = read_ledger(stack, run_id, SUMMARY)
    if summary is not None:
        good = summary["status"] in (Status.SUCCEEDED, Status.SKIPPED)
        return {"status": "SUCCEEDED" if good else "FAILED"}
    if any(read_ledger(stack, run_id, name) is not None for name in (REQUEST, PLAN)):
        return {"status": FORGOTTEN}
    return None


def stop_run(stack: Stack, run_id: str) -> bool:
    """Stop a run; returns whether it still ran."""
    if describe_run(stack, run_id)["status"] != "RUNNING":
        return False
    stack.client("stepfunctions").stop_execution(
        executionArn=stack.execution_arn(run_id), error="Stopped", cause="stopped by fanout stop"
    )
    return True


def newest_run(stack: Stack) -> str:
    """The id of the run that was started last. Raises ``CommandError`` if there is none."""
    found = stack.client("stepfunctions").list_executions(stateMachineArn=stack.state_machine_arn, maxResults=1)
    if not found["executions"]:
        if stack.is_local and (runs := ledgers_of(stack)):
            return runs[0].run_id
        raise CommandError(f"the stack {stack.name!r} has no run yet; start one: fanout start REQUEST.json")
    return str(found["executions"][0]["name"])


def read_ledger(stack: Stack, run_id: str, name: str) -> Any:
    """A JSON file of a run's ledger; ``None`` if it is not there."""
    try:
        data = BucketStore(stack.client("s3"), stack.work_bucket).get(run_prefix(run_id) + name)
    except (NotFound, InvalidRequest):
        return None
    return document_in(data, run_prefix(run_id) + name)


def asked_of(stack: Stack, run_id: str) -> Any:
    """The request of a run as it came: of its ledger, or of the execution of one that was refused; else ``None``."""
    asked = read_ledger(stack, run_id, REQUEST)
    if asked is not None:
        return asked["request"]
    try:
        described = describe_run(stack, run_id)
        return json.loads(described["input"]) if "input" in described else None
    except (CommandError, ValueError):
        return None  # nobody remembers it


def result_of_run(stack: Stack, run_id: str, described: Mapping[str, Any]) -> RunResult:
    """The result of a run that has ended."""
    found = result_of_summary(described, run_id, read_ledger(stack, run_id, SUMMARY))
    result = replace(found, is_local=stack.is_local)
    ledger = Ledger(BucketStore(stack.client("s3"), stack.work_bucket), run_id)
    return with_ledger(result, ledger)


def with_ledger(result: RunResult, ledger: Ledger) -> RunResult:
    """A result with what its summary does not hold: the entries that failed, or how far a run without one came."""
    if not result.is_counted:
        return replace(result, so_far=so_far(ledger))
    if not result.classes:
        return result
    try:
        found = failed_paths(ledger.read_rows(FAILURES), None if is_verbose() else FIRST)
    except LedgerBroken:
        return result  # it has expired, and the summary was read before
    return replace(result, failed_paths=found)


RUNS = "runs/"


class KeptLedger(NamedTuple):
    """The ledger of a run, and when the run began."""

    run_id: str
    began: datetime


def ledgers_of(stack: Stack) -> list[KeptLedger]:
    """All ledgers, that of the newest run first. It reads every run, so it is for a work bucket on this machine."""
    s3 = stack.client("s3")
    found = []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=stack.work_bucket, Prefix=RUNS, Delimiter="/"):
        for one in page.get("CommonPrefixes", []):
            asked = s3.list_objects_v2(Bucket=stack.work_bucket, Prefix=one["Prefix"] + REQUEST, MaxKeys=1)
            for key in asked.get("Contents", []):  # runs/ holds indexes and batches too
                found.append(KeptLedger(one["Prefix"].removeprefix(RUNS).strip("/"), key["LastModified"]))
    return sorted(found, key=lambda ledger: ledger.began, reverse=True)
