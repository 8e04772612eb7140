"""Whether an execution goes on, asked of moto's Step Functions and of a server that answers as it is told."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from fanout.adapters.aws import control_plane
from fanout.adapters.aws.step_functions import StepFunctionsExecutions
from fanout.model.errors import AccessDenied, InvalidRequest, NotFound, Throttled, Transient
from fanout.ports.aws import Entered, Execution
from tests.contract.scripted_server import RESET, STALL, ScriptedServer, answer
from tests.support.s3_servers import S3Server

REGION = "us-east-1"
ARN = "arn:aws:states:us-east-1:123456789012:execution:transfer:run-1"
WAITS = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token")
    boto3.setup_default_session()


def executions(url: str) -> StepFunctionsExecutions:
    return StepFunctionsExecutions(REGION, url, attempts=2)


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


def test_what_it_was_started_with(moto_server: S3Server) -> None:
    make: Any = boto3.client
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    steps = make("stepfunctions", endpoint_url=moto_server.url, region_name=REGION, **keys)
    role = "arn:aws:iam::123456789012:role/transfer"
    machine = steps.create_state_machine(name="found", definition=json.dumps(WAITS), roleArn=role)["stateMachineArn"]
    request = {"source": "s3://a/ä", "limits": {"max_concurrency": 5}, "exclude": []}
    execution = steps.start_execution(stateMachineArn=machine, name="run-2", input=json.dumps(request))["executionArn"]
    asked = executions(moto_server.url)
    assert asked.find(execution) == Execution(machine, "run-2", True, request)
    steps.stop_execution(executionArn=execution)
    assert asked.find(execution) == Execution(machine, "run-2", False, request)
    with pytest.raises(NotFound):
        asked.find(f"{execution}-that-never-was")


def test_an_execution_whose_input_may_not_be_read_has_none(server: ScriptedServer) -> None:
    answered = {"status": "RUNNING", "name": "run-1", "stateMachineArn": "arn"}
    server.script = [said(200, **answered)]
    assert executions(server.url).find(ARN) == Execution("arn", "run-1", True, None)


@pytest.mark.parametrize(
    "answered",
    [
        {"status": "RUNNING", "name": "run-1"},
        {"status": "RUNNING", "name": "run-1", "stateMachineArn": "arn", "input": "{"},
        {"name": "run-1", "stateMachineArn": "arn", "input": "{}"},
    ],
)
def test_an_execution_that_is_not_whole_is_no_answer(server: ScriptedServer, answered: dict[str, str]) -> None:
    server.script = [said(200, **answered)]
    with pytest.raises(Transient, match="cannot be read"):
        executions(server.url).find(ARN)


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
    server.script = [RESET, said(200, status="RUNNING")]
    assert executions(server.url).running(ARN)


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        ([said(400, __type="com.amazon.coral.availability#ThrottlingException")] * 2, Throttled, "ThrottlingException"),
        ([answer(503, b"no JSON")] * 2, Transient, "503"),
        ([RESET] * 2, Transient, "DescribeExecution"),
        ([said(400, __type="AccessDeniedException", message="no")], AccessDenied, "states:DescribeExecution"),
        ([said(400, __type="InvalidArn", message="bad")], InvalidRequest, "InvalidArn bad"),
        ([answer(200, b"<html>")], Transient, "cannot be read"),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_never_means_ended(
    server: ScriptedServer, answers: list[bytes], error: type[Exception], words: str
) -> None:
    server.script = list(answers)
    with pytest.raises(error, match=words):
        executions(server.url).running(ARN)
    assert server.script == []


def test_a_second_execution_of_a_name_is_not_started(server: ScriptedServer) -> None:
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:transfer"
    server.script = [said(200, executionArn=ARN, startDate="1"), said(400, __type="ExecutionAlreadyExists")]
    asked = executions(server.url)
    assert asked.start(machine, "run-1", {"source": "s3://a/"})
    assert not asked.start(machine, "run-1", {"source": "s3://a/"})
    assert json.loads(server.bodies[0])["input"] == '{"source": "s3://a/"}'


def test_a_server_that_says_nothing_is_given_up(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "READ_SECONDS", 0.2)
    server.script = [STALL] * 2
    with pytest.raises(Transient, match="no answer"):
        executions(server.url).running(ARN)


def test_without_credentials_it_says_so(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    boto3.setup_default_session()
    with pytest.raises(AccessDenied, match="credentials"):
        executions(server.url).running(ARN)


def of_history(*events: dict[str, Any], more: str = "") -> bytes:
    page: dict[str, Any] = {"events": [{"timestamp": 1.0, "id": 1, **event} for event in events]}
    return answer(200, json.dumps({**page, "nextToken": more} if more else page).encode())


ENTERED = {
    "type": "TaskStateEntered",
    "stateEnteredEventDetails": {"name": "Last", "input": '{"run": {"id": "\\u00e4"}}'},
}


def test_the_state_that_it_entered_last_is_looked_for_behind_the_attempts_at_it(server: ScriptedServer) -> None:
    attempts = [{"type": one} for one in ("TaskStarted", "TaskScheduled", "TaskFailed")]
    older = {"type": "TaskStateEntered", "stateEnteredEventDetails": {"name": "Before", "input": "{}"}}
    server.script = [of_history(*attempts, more="x"), of_history(ENTERED, older)]
    assert executions(server.url).entered(ARN) == Entered("Last", {"run": {"id": "ä"}})
    body = json.loads(server.bodies[0])
    assert body["reverseOrder"] is True and body["executionArn"] == ARN


def test_an_execution_that_shows_no_state_has_entered_none(server: ScriptedServer) -> None:
    server.script = [of_history({"type": "ExecutionStarted"})]
    with pytest.raises(NotFound):
        executions(server.url).entered(ARN)
    server.script = [answer(200, b'{"events": [{"stateEnteredEventDetails": {"name": "Last", "input": "{"}}]}')]
    with pytest.raises(Transient, match="cannot be read"):
        executions(server.url).entered(ARN)
