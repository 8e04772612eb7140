"""Ends of runs, and what the command line advises after each: the line is run as it stands, by the command itself."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from msgspec import convert
from typer.testing import CliRunner

from fanout.books.next_step import RULES, EndedRun, Rule, left_of, next_step
from fanout.books.step import NextStep
from fanout.books.summary_document import SummaryDocument
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from fanout.summary.summarise_transfer import summarise_transfer
from fanout_cli.main import app
from fanout_cli.runs.advice import command_for
from fanout_cli.stacks import Stack
from tests.remedies.lab import Attempt, Lab
from tests.support.flow import World

FOUND = "fanout_cli.stacks.find_stack"
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:lab"


class NoSuchKey(Exception):
    """There is no such object."""


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        """The object."""
        return self._data


class LabBucket:
    """The work bucket of a lab, as boto3's client shows it."""

    exceptions = type("exceptions", (), {"NoSuchKey": NoSuchKey})

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def get_object(self, Bucket: str, Key: str) -> Json:
        """See boto3."""
        found = self._lab.first.store._objects.get(Key)  # type: ignore[attr-defined]
        if found is None:
            raise NoSuchKey(Key)
        return {"Body": _Body(found)}


class LabRuns:
    """The executions of a lab; what is started is kept in ``asked``."""

    def __init__(self, requests: Json) -> None:
        self.requests = requests
        self.asked: list[Json] = []

    def describe_execution(self, executionArn: str) -> Json:
        """See boto3."""
        run_id = executionArn.rpartition(":")[2]
        return {"status": "FAILED", "input": json.dumps(self.requests[run_id])}

    def start_execution(self, **words: Any) -> None:
        """See boto3."""
        self.asked.append(json.loads(words["input"]))


@dataclass(frozen=True)
class End:
    """A case: the row of the table that it meets, and how a run comes to that end and is mended."""

    how: str
    meet: Callable[[Lab], Attempt]
    mend: Callable[[Lab], Any] = lambda _: None
    fill: tuple[str, str] = ("", "")
    ended: EndedRun | None = None
    claim: Callable[[Lab], bool] = lambda lab: lab.held() == lab.held("source")


def ended(attempt: Attempt) -> EndedRun:
    """A run's end, as the table sees it."""
    summary = convert(attempt.summary, SummaryDocument)
    return EndedRun(
        summary.mode,
        summary.status.value,
        summary.error.name if summary.error else "",
        left_of(summary.failures_by_class),
        nothing_listed=not summary.totals.listed.entries,
        nothing_planned=summary.planned is not None and not summary.planned.to_copy.entries,
        nothing_taken=bool(summary.warnings and summary.totals.listed.entries),
    )


def rule_of(end: EndedRun) -> Rule:
    """The row that fits."""
    return next(rule for rule in RULES if rule.fits(end))


def follow(lab: Lab, attempt: Attempt, how: EndedRun, fill: tuple[str, str]) -> Attempt:
    """Take the advised line literally, but for a value that the reader fills in, and run what it starts."""
    requests = {one.world.run_id: lab.requests[number] for number, one in enumerate(lab.runs)}
    runs, bucket = LabRuns(requests), LabBucket(lab)
    clients = {"s3": bucket, "stepfunctions": runs}
    stack = Stack(
        "lab", {"StateMachineArn": MACHINE, "WorkBucketName": "work"}, clients.__getitem__, "--stack lab", 0.1
    )
    step: NextStep = next_step(how)
    line = command_for(stack, attempt.world.run_id, step, "holder")
    words = shlex.split(f"{line} {stack.option}".replace(*fill) if fill[0] else f"{line} {stack.option}")
    with patch(FOUND, lambda *_: stack):
        said = CliRunner().invoke(app, [*words[1:], "--detach"])
    assert said.exit_code == 0, (line, said.output, said.exception)
    [request] = runs.asked
    return lab.again(request)


def failing(request: Json, raised: FanoutError | None = None) -> Callable[[World], Json]:
    """A flow that a task's error ends, as the state machine does: its own, or ``raised`` once everything is listed."""

    def run(world: World) -> Json:
        try:
            if raised is None:
                return world.run(request)
            world.list_all(world.plan(request))
            raise raised
        except FanoutError as error:
            cause = json.dumps({"errorMessage": str(error), "errorType": type(error).__name__})
            summarise_transfer({"Error": type(error).__name__, "Cause": cause}, world.context("SummariseTransfer"))
            summary: Json = world.ledger.read_json("summary.json")
            return summary

    return run
