"""A stack in moto: found by its outputs, with a state machine that really runs and a work bucket."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.stepfunctions.parser.models import StepFunctionsParserBackend
from typer.testing import CliRunner, Result

from fanout_cli.main import app
from tests.support.actions import needs
from tests.support.work_bucket_policy import ROOT, is_denied

REGION = "eu-west-1"
BUCKET = "work-bucket"
# The stack by its option, and a request that it takes.
MINE = ("--stack", "mine")
GOOD = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}
# What a run does is in its request: it waits, and then ends as it is told to.
DEFINITION = {
    "StartAt": "Wait",
    "States": {
        "Wait": {"Type": "Wait", "SecondsPath": "$.seconds", "Next": "How"},
        "How": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.end", "StringEquals": "SUCCEEDED", "Next": "Succeeded"}],
            "Default": "Failed",
        },
        "Succeeded": {"Type": "Succeed"},
        "Failed": {"Type": "Fail", "ErrorPath": "$.end", "Cause": "as asked"},
    },
}


class Judged:
    """A session of botocore whose clients of S3 are held against the policy of the work bucket, as S3 does it.

    The commands use it; it limits an administrator and the account's root too. What a test lays out is not asked.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def create_client(self, service: str, **options: Any) -> Any:
        client = self._session.create_client(service, **options)
        if service == "s3":
            client.meta.events.register("before-call.s3", judge)
        return client


def judge(model: Any, params: dict[str, Any], **_others: Any) -> None:
    """Raise what S3 answers to a request that the work bucket's policy denies to the account's root."""
    parts, body = urlsplit(params["url"]), params["body"]
    if params["method"] in ("GET", "HEAD") or not str(parts.hostname).startswith(f"{BUCKET}."):
        return  # the policy denies no reading: tests/template/test_work_bucket_policy.py
    url = f"https://s3/{BUCKET}{parts.path}?{parts.query}"
    sent = body if isinstance(body, bytes) else b""
    for need in needs(params["method"], url, params["headers"], sent):
        _, _, key = need.resource.partition(f"{BUCKET}/")
        if is_denied(ROOT, need.action, BUCKET, key):
            said = f"{need.action} on {key} by a resource-based policy"
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": said}}, model.name)


@dataclass
class Aws:
    """The stand-in for AWS, and the command."""

    directory: Path
    state: Path
    session: boto3.Session
    client: Callable[[str], Any]

    def put(self, key: str, document: Any) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.client("s3").put_object(Bucket=BUCKET, Key=key, Body=body)

    def wait_for_end(self, run_id: str) -> None:
        deadline = time.monotonic() + 10
        steps = self.client("stepfunctions")
        [arn] = [arn for arn in self.executions() if arn.endswith(f":{run_id}")]
        while steps.describe_execution(executionArn=arn)["status"] == "RUNNING":
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def summary(self, run_id: str, status: str, **totals: int) -> None:
        names = ("listed", "copied", "unchanged", "skipped", "failed", "rejected", "deleted")
        books = {name: {"entries": totals.get(name, 0), "bytes": 3072 if name == "copied" else 0} for name in names}
        error = None if status == "SUCCEEDED" else {"name": "FailedWithItems", "message": "2 entries failed"}
        document = {"status": status, "error": error, "totals": books, "seconds": {"copy": 1.5}}
        self.put(f"runs/{run_id}/summary.json", document)
        self.put(f"runs/{run_id}/failures.jsonl", b'{"path": "p"}\n')
        self.put(f"runs/{run_id}/report.html", b"<html>")

    def change(self, run_id: str, **fields: Any) -> None:
        """Lay fields over the summary of a run."""
        key = f"runs/{run_id}/summary.json"
        document = json.loads(self.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read())
        self.put(key, {**document, **fields})

    def file(self, document: Any) -> str:
        """A file that holds a document."""
        path = self.directory / "request.json"
        path.write_text(json.dumps(document))
        return str(path)

    def planned(self, run_id: str, mode: str, **fields: Any) -> None:
        """What of a run's ledger says that it had a plan; the request is one that this stack's runs take."""
        request = {"mode": mode, "source": "s3://b/", "seconds": 0, "end": "SUCCEEDED", **fields}
        self.put(f"runs/{run_id}/request.json", {"request": request})
        self.put(f"runs/{run_id}/plan.json", {"request": {"mode": mode}})

    def skipped(self, run_id: str, holder: str) -> None:
        """The files of a run that was skipped."""
        self.summary(run_id, "SUCCEEDED")
        reason = f"the run {holder} carries out the same transfer"
        self.change(run_id, status="SKIPPED", skipped={"reason": reason, "holder": holder})

    def fanout(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--state", str(self.state)])

    def start(self, run_id: str, end: str = "SUCCEEDED", seconds: int = 0) -> None:
        """Start a run that waits and ends as it is told; no request of a real one does."""
        steps = self.client("stepfunctions")
        [machine] = steps.list_state_machines()["stateMachines"]
        document = json.dumps({"seconds": seconds, "end": end})
        steps.start_execution(stateMachineArn=machine["stateMachineArn"], name=run_id, input=document)

    def request_of(self, run_id: str) -> Any:
        [arn] = [arn for arn in self.executions() if arn.endswith(f":{run_id}")]
        return json.loads(self.client("stepfunctions").describe_execution(executionArn=arn)["input"])

    def executions(self) -> list[str]:
        steps = self.client("stepfunctions")
        [machine] = steps.list_state_machines()["stateMachines"]
        found = steps.list_executions(stateMachineArn=machine["stateMachineArn"])["executions"]
        return [execution["executionArn"] for execution in found]


def stack_template(machine_arn: str) -> str:
    """A stack with the outputs; what it is made of matters to no command here."""
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": BUCKET}}
    outputs = {"StateMachineArn": {"Value": machine_arn}, "WorkBucketName": {"Value": {"Ref": "Bucket"}}}
    return json.dumps({"Resources": {"Bucket": bucket}, "Outputs": outputs})


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """A person's environment, without what this machine happens to have; returns what unsets a variable."""
    for name in ("FANOUT_STACK", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    values = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return lambda name: monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def session() -> boto3.Session:
    """One for all tests: a new one reads the models of the services again, which takes most of a test."""
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


@pytest.fixture(scope="session")
def client_of(session: boto3.Session) -> Callable[[str], Any]:
    """A client of a service by its name, each made once: that takes longer than most requests to moto."""
    make: Any = session.client
    return cache(lambda service: make(service))


def _maps_of_a_run_that_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have moto wait for an execution's thread before it lists its Maps, which it cannot do earlier."""
    list_map_runs = StepFunctionsParserBackend.list_map_runs

    def begun(backend: StepFunctionsParserBackend, execution_arn: str) -> Any:
        execution: Any = backend.describe_execution(execution_arn=execution_arn)
        while execution.exec_worker is None or execution.exec_worker.env is None:
            time.sleep(0.01)
        return list_map_runs(backend, execution_arn)

    monkeypatch.setattr(StepFunctionsParserBackend, "list_map_runs", begun)


@pytest.fixture
def aws(
    session: boto3.Session,
    client_of: Callable[[str], Any],
    environment: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Aws]:
    monkeypatch.setenv(
        "MOTO_EC2_LOAD_DEFAULT_AMIS", "false"
    )  # of 1,300 machine images, made by each test with a network
    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
        found = Aws(tmp_path, tmp_path / "state", session, client_of)
        monkeypatch.setattr("fanout_cli.stacks.new_session", lambda: Judged(session._session))
        _maps_of_a_run_that_began(monkeypatch)
        machine = found.client("stepfunctions").create_state_machine(
            name="mine-transfer", roleArn="arn:aws:iam::123456789012:role/transfer", definition=json.dumps(DEFINITION)
        )
        template = stack_template(machine["stateMachineArn"])
        found.client("cloudformation").create_stack(StackName="mine", TemplateBody=template)
        monkeypatch.setattr("fanout_cli.stacks.POLL_SECONDS_REMOTE", 0.01)
        yield found
