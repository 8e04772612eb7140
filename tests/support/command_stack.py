"""A stack for commands: each run that one starts is a whole run under the deployed rights."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fanout.flow.walker import StateFailed
from fanout.model.document import Json
from fanout.model.errors import NotFound
from fanout_cli.main import app
from fanout_cli.schedules.schedule import CALL_ID
from fanout_cli.stacks import Stack
from tests.functions.kinds_of_runs import WORK
from tests.support.deployed import Deployed, DeployedSides
from tests.support.deployed_runs import on_mounts

MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:mine"
OUTPUTS = {
    "StateMachineArn": MACHINE,
    "WorkBucketName": WORK,
    "ScheduleGroupName": "mine",
    "NamedScheduleRoleArn": "arn:aws:iam::123456789012:role/mine",
}


class NoSuchKey(Exception):
    """The error of the client of S3."""


@dataclass
class CommandStack:
    """A deployed world as commands see it, in place of the clients of S3, Step Functions and EventBridge Scheduler.

    ``stops`` are the states before which somebody stops the next run. ``started`` are the ids of all runs in order.
    """

    one: Deployed
    stops: tuple[str, ...] = ()
    executions: dict[str, Json] = field(default_factory=dict)
    schedules: dict[str, Json] = field(default_factory=dict)
    exceptions: Any = field(default_factory=lambda: SimpleNamespace(NoSuchKey=NoSuchKey))

    def type(self, patch: pytest.MonkeyPatch, *words: str) -> Result:
        """Type a command line, which ends well."""
        found = Stack("mine", OUTPUTS, lambda _: self, "--stack mine", 0.0)
        patch.setattr("fanout_cli.stacks.find_stack", lambda *_: found)
        typed = CliRunner().invoke(app, list(words))
        assert typed.exit_code == 0, (typed.output, typed.exception)
        return typed

    @property
    def started(self) -> list[str]:
        """The runs, the first one first."""
        return list(self.executions)

    @property
    def summary(self) -> Json:
        """The summary of the last run."""
        return self.one.summary()

    def fire(self, name: str) -> None:
        """Call the target of a schedule, as EventBridge Scheduler does at its time."""
        target = self.schedules[name]["Target"]
        assert target["Arn"].endswith(":aws-sdk:sfn:startExecution")
        asked = json.loads(target["Input"].replace(CALL_ID, "0123-4567"))
        self.start_execution(stateMachineArn=asked["StateMachineArn"], name=asked["Name"], input=asked["Input"])

    # Step Functions

    def start_execution(self, **given: str) -> None:
        """A whole run, or one that somebody stops."""
        assert given["stateMachineArn"] == MACHINE and given["name"] not in self.executions
        breaks = self.one.breaks
        self.one = self.one.next_run(given["name"])
        self.one.breaks = breaks if not self.executions else []
        if isinstance(self.one, DeployedSides):
            on_mounts(self.one)
        self.executions[given["name"]] = {"input": given["input"], **self._run(json.loads(given["input"]))}

    def describe_execution(self, **given: str) -> Json:
        """A run that has ended."""
        return self.executions[given["executionArn"].rpartition(":")[2]]

    def list_executions(self, **_given: Any) -> Json:
        """The newest one first."""
        return {"executions": [{"name": name} for name in reversed(self.started)]}

    def _run(self, asked: Json) -> Json:
        if self.stops:
            stops, self.stops = self.stops, ()
            with suppress(StateFailed):  # it ended before
                self.one.walker().walk("PlanTransfer", asked, stops)
            return {"status": "ABORTED", "error": "Stopped", "cause": "stopped by fanout stop"}
        self.one.run(asked)
        assert self.one.denied == []
        ended = self.one.ended
        return {"status": "FAILED", "error": ended.error, "cause": ended.cause} if ended else {"status": "SUCCEEDED"}

    # S3

    def get_object(self, **given: str) -> Json:
        """An object of the work bucket."""
        assert given["Bucket"] == WORK
        try:
            return {"Body": io.BytesIO(self.one.plain.get(given["Key"]))}
        except NotFound as error:
            raise NoSuchKey from error

    def get_paginator(self, operation: str) -> Any:
        """Everything on one page."""
        pages: dict[str, Any] = {"list_objects_v2": self._listed, "list_executions": lambda **_: {"executions": []}}
        return SimpleNamespace(paginate=lambda **given: iter([pages[operation](**given)]))

    def _listed(self, **given: str) -> Json:
        assert given["Bucket"] == WORK
        return {"Contents": [{"Key": key} for key in self.one.plain.list(given["Prefix"])]}

    # EventBridge Scheduler

    def create_schedule(self, **given: Any) -> None:
        """A schedule."""
        self.schedules[given["Name"]] = {**given, "CreationDate": datetime.now(UTC)}

    def get_schedule(self, **given: str) -> Json:
        """A schedule as it was made."""
        return self.schedules[given["Name"]]
