"""Step Functions: starts executions, reads their state, reads and changes their Map runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.model.document import Json, json_value
from fanout.model.errors import NotFound
from fanout.ports.aws import Entered, Execution
from fanout.ports.pacing import MapRun

_RUNNING = frozenset({"RUNNING", "PENDING_REDRIVE"})
# Chosen: a page that holds some attempts of a task, of three events each, and pages for all that are retried.
_EVENTS, _PAGES = 25, 100


class StepFunctionsExecutions:
    """The ``Executions``, ``ExecutionReader`` and ``Starts`` of ``ports.aws``.

    Needs states:DescribeExecution, states:GetExecutionHistory for ``entered``, and states:StartExecution.
    """

    def __init__(self, region: str, url: str = "", attempts: int = 4) -> None:
        self._steps = client("stepfunctions", region, url, attempts)

    def running(self, execution: str) -> bool:
        try:
            with our_errors("states:DescribeExecution", execution):
                found = self._steps.describe_execution(executionArn=execution, includedData="METADATA_ONLY")
                return found["status"] in _RUNNING
        except NotFound:
            return False

    def find(self, execution: str) -> Execution:
        with our_errors("states:DescribeExecution", execution):
            found = self._steps.describe_execution(executionArn=execution)
            text = found.get("input")
            given = json_value(text.encode()) if text is not None else None
            return Execution(found["stateMachineArn"], found["name"], found["status"] in _RUNNING, given)

    def entered(self, execution: str) -> Entered:
        history = self._steps.get_paginator("get_execution_history")
        with our_errors("states:GetExecutionHistory", execution):
            pages = history.paginate(executionArn=execution, reverseOrder=True, maxResults=_EVENTS)
            for page in islice(pages, _PAGES):
                for event in page["events"]:
                    if "stateEnteredEventDetails" in event:
                        entered = event["stateEnteredEventDetails"]
                        return Entered(entered["name"], json_value(entered.get("input", "null").encode()))
        raise NotFound(f"{execution} shows no state that it entered")

    def start(self, machine: str, run_id: str, request: Json) -> bool:
        with our_errors("states:StartExecution", f"{run_id} of {machine}"):
            try:
                self._steps.start_execution(stateMachineArn=machine, name=run_id, input=json.dumps(request))
            except self._steps.exceptions.ExecutionAlreadyExists:
                return False
        return True


class StepFunctionsMaps:
    """The ``ports.pacing.MapRuns``; needs states:ListMapRuns, states:DescribeMapRun and states:UpdateMapRun."""

    def __init__(self, region: str, url: str = "", attempts: int = 4) -> None:
        self._steps = client("stepfunctions", region, url, attempts)
        self._arn = ""

    def find(self, execution_arn: str, label: str) -> MapRun | None:
        """See ``ports.pacing.MapRuns``; one request where the Map is known, two where it is not."""
        if not self._arn:
            with our_errors("states:ListMapRuns", execution_arn):
                listed = self._listed(execution_arn)
                found = [one for one in listed if one["mapRunArn"].rpartition("/")[2].partition(":")[0] == label]
                if not found:
                    return None
                self._arn = max(found, key=lambda one: one["startDate"])["mapRunArn"]
        with our_errors("states:DescribeMapRun", self._arn):
            run = self._steps.describe_map_run(mapRunArn=self._arn)
            counts = run["itemCounts"]
            return MapRun(
                self._arn, run["status"], run["maxConcurrency"], counts["total"], counts["pending"], counts["running"]
            )

    def _listed(self, execution_arn: str) -> Iterator[Any]:
        for page in self._steps.get_paginator("list_map_runs").paginate(executionArn=execution_arn):
            yield from page["mapRuns"]

    def move(self, map_run_arn: str, max_concurrency: int) -> None:
        with our_errors("states:UpdateMapRun", map_run_arn):
            self._steps.update_map_run(mapRunArn=map_run_arn, maxConcurrency=max_concurrency)
