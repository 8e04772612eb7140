"""Whether an execution goes on, asked of moto's Step Functions and of a server that answers as it is told."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from fanout.adapters.s3.credentials import Credentials
from fanout.adapters.s3.requests import RetryPolicy
from fanout.adapters.step_functions import StepFunctionsExecutions
from fanout.domain.errors import AccessDenied, InvalidRequest, Throttled, Transient
from tests.contract.scripted_server import RESET, ScriptedServer, answer
from tests.support.s3_servers import S3Server

REGION = "us-east-1"
ARN = "arn:aws:states:us-east-1:123456789012:execution:transfer:run-1"
WAITS = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}


def executions(url: str) -> StepFunctionsExecutions:
    credentials = Credentials("testing", "testing", "a-token")
    return StepFunctionsExecutions(
        REGION, lambda: credentials, url, retry=RetryPolicy(attempts=3), sleep=lambda seconds: None
    )


def test_one_that_runs_one_that_was_stopped_and_one_that_never_was(moto_server: S3Server) -> None:
    make: Any = boto3.client
    steps = make(
        "stepfunctions",
        endpoint_url=moto_server.url,
        region_name=REGION,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )
    role = "arn:aws:iam::123456789012:role/transfer"
    machine = steps.create_state_machine(name="asked", definition=json.dumps(WAITS), roleArn=role)["stateMachineArn"]
    execution = steps.start_execution(stateMachineArn=machine, name="run-1")["executionArn"]
    asked = executions(moto_server.url)
    assert asked.running(execution)
    steps.stop_execution(executionArn=execution)
    assert not asked.running(execution)
    assert not asked.running(f"{execution}-that-never-was")


def said(code: int, /, **fields: str) -> bytes:
    return answer(code, json.dumps(fields).encode())


def test_the_request_is_signed_for_step_functions_and_names_the_operation(server: ScriptedServer) -> None:
    server.script = [said(200, status="RUNNING")]
    assert executions(server.url).running(ARN)
    head = server.requests[0].decode().lower()
    assert head.startswith("post / http/1.1")
    assert "x-amz-target: awsstepfunctions.describeexecution" in head
    assert f"/{REGION}/states/aws4_request" in head and "x-amz-security-token: a-token" in head
    assert "unsigned-payload" not in head


@pytest.mark.parametrize(
    ("status", "goes_on"),
    [("RUNNING", True), ("PENDING_REDRIVE", True), ("SUCCEEDED", False), ("FAILED", False), ("TIMED_OUT", False)],
)
def test_each_status(server: ScriptedServer, status: str, goes_on: bool) -> None:
    server.script = [said(200, status=status)]
    assert executions(server.url).running(ARN) is goes_on


def test_what_passes_is_asked_again(server: ScriptedServer) -> None:
    server.script = [RESET, said(400, __type="ThrottlingException"), said(200, status="RUNNING")]
    assert executions(server.url).running(ARN)


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        ([said(400, __type="com.amazon.coral.availability#ThrottlingException")] * 3, Throttled, "ThrottlingException"),
        ([answer(503, b"no JSON")] * 3, Transient, "503"),
        ([RESET] * 3, Transient, "DescribeExecution"),
        ([said(400, __type="AccessDeniedException", message="no")], AccessDenied, "states:DescribeExecution"),
        ([said(400, __type="InvalidArn", message="bad")], InvalidRequest, "InvalidArn bad"),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_never_means_ended(
    server: ScriptedServer, answers: list[bytes], error: type[Exception], words: str
) -> None:
    server.script = list(answers)
    with pytest.raises(error, match=words):
        executions(server.url).running(ARN)
    assert server.script == []
