"""Runs a definition: by the own walker, or in moto's Step Functions interpreter against a local Lambda service."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import boto3  # type: ignore[import-untyped,unused-ignore]
import pytest

from fanout.flow.walker import StateFailed, Walker

from .definition import Json, for_moto, tasks
from .fake_functions import BUCKET, REQUEST, FakeTransfer
from .lambda_service import LambdaService, NamedError, ServiceError

ROLE_ARN = "arn:aws:iam::123456789012:role/transfer"
# The walker works on one thing at a time, and never gives up a function that hangs: these run in moto each time.
MOTO_ALONE = pytest.mark.parametrize("engine", ["moto"], indirect=True)
EXECUTIONS = "arn:aws:states:eu-west-1:123456789012:execution:transfer"


@dataclass(frozen=True, slots=True)
class Result:
    status: str
    output: Any
    error: str
    cause: str


@dataclass
class Engine:
    """One state machine of the real file, its functions, and the work bucket.

    ``waits`` holds, in order, the longest wait of each retry before the jitter.
    """

    service: LambdaService
    definition: Json = field(default_factory=for_moto)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._s3 = boto3.client("s3")
        self._steps = boto3.client("stepfunctions")
        self._s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})

    def put(self, key: str, content: Any) -> None:
        self._s3.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(content).encode())

    def transfer(self, **options: Any) -> FakeTransfer:
        """Installs the functions of a transfer; single ones may be replaced in ``service.functions``."""
        fake = FakeTransfer(self.put, **options)
        fake.install(self.service)
        return fake

    def now(self) -> float:
        """Seconds since 1970 by the clock that a Wait goes by."""
        return time.time()

    def set_timeout(self, task: str, seconds: int) -> None:
        """Gives one Task of the loaded definition a time-out that a test can wait for."""
        for state in tasks(self.definition):
            if state.name == task:
                state.body["TimeoutSeconds"] = seconds

    def run(self, request: Any = REQUEST, run_id: str = "run-1") -> Result:
        machine = self._steps.create_state_machine(
            name="transfer", definition=json.dumps(self.definition), roleArn=ROLE_ARN
        )
        execution = self._steps.start_execution(
            stateMachineArn=machine["stateMachineArn"], name=run_id, input=json.dumps(request)
        )
        found = self._steps.describe_execution(executionArn=execution["executionArn"])
        output = json.loads(found["output"]) if found.get("output") else None
        return Result(found["status"], output, found.get("error", ""), found.get("cause", ""))

    def entered(self, run_id: str = "run-1") -> list[str]:
        """The states of the root workflow in the order of their entry."""
        arn = f"{EXECUTIONS}:{run_id}"
        events = self._steps.get_execution_history(executionArn=arn, maxResults=1000)["events"]
        entered = [event["stateEnteredEventDetails"]["name"] for event in events if "stateEnteredEventDetails" in event]
        return [name for name in entered if name in self.definition["States"]]


class WalkedEngine(Engine):
    """The same by ``fanout.flow.walker``: a bucket is a mapping, and a wait sets the clock on."""

    def __post_init__(self) -> None:
        self._objects: dict[str, str] = {}
        self._entered: list[str] = []
        self._now = time.time()

    def put(self, key: str, content: Any) -> None:
        self._objects[key] = json.dumps(content)

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        if not self._entered[-1].startswith("Wait"):
            self.waits.append(seconds)

    def run(self, request: Any = REQUEST, run_id: str = "run-1") -> Result:
        execution = {"Id": f"{EXECUTIONS}:{run_id}", "Name": run_id, "Input": request}
        walker = Walker(
            self.definition, self._invoke, self._read, self, execution, failure_of, entered=self._entered.append
        )
        try:
            return Result("SUCCEEDED", walker.run(request), "", "")
        except StateFailed as failed:
            return Result("FAILED", None, failed.error, failed.cause)

    def entered(self, run_id: str = "run-1") -> list[str]:
        return [name for name in self._entered if name in self.definition["States"]]

    def entered_anywhere(self) -> set[str]:
        """The states that were entered, those of Maps and branches too."""
        return set(self._entered)

    def _invoke(self, function: str, payload: Json) -> Any:
        return self.service.invoke(function.rpartition(":")[2], payload)

    def _read(self, _bucket: str, key: str) -> Any:
        return json.loads(self._objects[key])


def failure_of(error: Exception) -> StateFailed:
    """An error as Lambda's runtime, or the service, reports it."""
    if isinstance(error, ServiceError):
        return StateFailed(f"Lambda.{error.code}", str(error))
    error_type = error.error_type if isinstance(error, NamedError) else type(error).__name__
    return StateFailed(error_type, json.dumps({"errorMessage": str(error), "errorType": error_type, "stackTrace": []}))
