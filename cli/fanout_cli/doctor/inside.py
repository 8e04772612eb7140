"""What a function inside the network finds: CheckMount, asked for its findings."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fanout.domain.findings import Finding, fail, finding_from_row
from fanout.domain.run_error import cause_message
from fanout_cli.stacks import Stack

_CHECKS = "CheckMount"


def functions(stack: Stack) -> list[str]:
    """The names of the functions that check mounts: one a mount."""
    return [name for name in stack.outputs.get("CheckMountFunctions", "").split(",") if name]


def inside_findings(stack: Stack, kms_key_id: str) -> Iterator[Finding]:
    """The findings of every such function."""
    names = functions(stack)
    if not names:
        yield fail("inside the network", "the stack has no function CheckMount", "deploy the stack again: sam deploy")
    for name in names:
        yield from _ask(stack, name, kms_key_id)


def _ask(stack: Stack, name: str, kms_key_id: str) -> Iterator[Finding]:
    answer = stack.client("lambda").invoke(
        FunctionName=name, Payload=json.dumps({"doctor": {"kms_key_id": kms_key_id}}).encode()
    )
    payload = answer["Payload"].read().decode()
    if answer.get("FunctionError"):
        remedy = f"see its log in CloudWatch, the group {_CHECKS} of this stack"
        yield fail("inside the network", f"{name} failed: {cause_message(payload)}", remedy)
        return
    yield from map(finding_from_row, json.loads(payload)["findings"])
