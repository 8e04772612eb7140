"""PlanTransfer counts a run that begins its work apart from one that is skipped: an alarm on missing runs reads it."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from tests.functions.conftest import Invoke
from tests.functions.test_handlers import OFFERED, lines

REQUEST = {"source": "s3://data-bucket/in/", "destination": "efs:///out"}
WAITS = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}


def counted(output: str) -> dict[str, Any]:
    """The metrics of runs among the lines of a log, each with what CloudWatch is told of it."""
    emitted = [line for line in lines(output) if "_aws" in line]
    return {name: line for line in emitted for name in line if name.startswith("Runs")}


def test_a_run_that_is_skipped_is_not_one_that_begins(
    s3: Any, s3_url: str, invoke: Invoke, capsys: pytest.CaptureFixture[str]
) -> None:
    make: Any = boto3.client
    steps = make("stepfunctions", endpoint_url=s3_url, region_name="us-east-1")
    role = "arn:aws:iam::123456789012:role/transfer"
    machine = steps.create_state_machine(name="counted", definition=json.dumps(WAITS), roleArn=role)["stateMachineArn"]
    found = []
    for run_id in ("first", "second"):
        execution = steps.start_execution(stateMachineArn=machine, name=run_id)["executionArn"]
        event = {"request": REQUEST, "run_id": run_id, "execution": execution, "functions": OFFERED}
        answer = invoke("PlanTransfer", event)
        found.append((answer.get("holder"), counted(capsys.readouterr().out)))
    (nobody, first), (holder, second) = found
    assert (nobody, holder) == (None, "first")
    assert (set(first), set(second)) == ({"RunsBegun"}, {"RunsSkipped"})
    for name, line in (*first.items(), *second.items()):
        assert (line[name], line["service"]) == ([1.0], "fanout")
        [described] = line["_aws"]["CloudWatchMetrics"]
        assert (described["Namespace"], described["Dimensions"]) == ("FanOutTransfer", [["service"]])
