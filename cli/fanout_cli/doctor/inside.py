"""Findings of the functions that answer the doctor alone: ExamineNetwork on each mount, ExamineTurns on none."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import convert

from fanout.model.errors import cause_message
from fanout.ports.finding import DEPLOY_AGAIN, Finding, fail, warn
from fanout_cli.stacks import Stack

_INSIDE, _TURNS = "inside the network", "runs at the same time"
# A run that need not be there: only whether it may be asked about counts.
_SOME_RUN = "doctor"


def functions(stack: Stack) -> list[str]:
    """The names of the functions ExamineNetwork: one a mount."""
    return [name for name in stack.outputs.get("ExamineNetworkFunctions", "").split(",") if name]


def inside_findings(stack: Stack, kms_key_id: str) -> Iterator[Finding]:
    """The findings of every such function."""
    names = functions(stack)
    if not names:
        yield fail(_INSIDE, "the stack has no function ExamineNetwork", DEPLOY_AGAIN)
    for name in names:
        yield from _ask(stack, _INSIDE, name, "ExamineNetwork", {"step": "ExamineNetwork", "kms_key_id": kms_key_id})


def turns_findings(stack: Stack) -> Iterator[Finding]:
    """Whether two runs of one transfer can be kept from running at the same time."""
    name = stack.outputs.get("ExamineTurnsFunction")
    if not name:
        yield warn(_TURNS, "not checked: the stack is of an earlier version", DEPLOY_AGAIN)
        return
    yield from _ask(
        stack, _TURNS, name, "ExamineTurns", {"step": "ExamineTurns", "execution": stack.execution_arn(_SOME_RUN)}
    )


def _ask(stack: Stack, title: str, name: str, word: str, asked: dict[str, str]) -> Iterator[Finding]:
    answer = stack.client("lambda").invoke(FunctionName=name, Payload=json.dumps(asked).encode())
    payload = answer["Payload"].read().decode()
    if answer.get("FunctionError"):
        remedy = f"see its log in CloudWatch, the group {word} of this stack"
        yield fail(title, f"{name} failed: {cause_message(payload)}", remedy)
        return
    yield from convert(json.loads(payload)["findings"], list[Finding])
