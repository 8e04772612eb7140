"""The main template and the nested ones, read as one stack."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Resource = dict[str, Any]

REPO = Path(__file__).parents[2]
TEMPLATE = REPO / "template.yaml"
NESTED = REPO / "templates"
EVERY = (TEMPLATE, *sorted(NESTED.glob("*.yaml")))
STATE_MACHINE = REPO / "statemachine" / "transfer.asl.json"
PROBE_STATE_MACHINE = REPO / "statemachine" / "probe.asl.json"
STACK = "AWS::CloudFormation::Stack"
MOUNTED = {
    "CheckMountFunction",
    "ListSegmentFunction",
    "CopyShardFunction",
    "FinishTreeFunction",
    "FinishShardFunction",
    "VerifyShardFunction",
    "ShortWayFunction",
    "DeleteShardFunction",
    "RemoveDirectoriesFunction",
}
# Stacks of the same functions, by what stands before their names, and the conditions under which they are there.
AGAIN = {"Second": "SecondMount", "Outside": "Outside"}
CONDITIONS_OF = {"SecondMount": "HasSecondMount", "Outside": "LeavesRegion"}
# Each has a template of its own.
PACING = {"PaceCopyFunction"}
CHECKSUMS = {"ComputeChecksumsFunction"}
# No state calls it, but a queue.
BESIDE = {"StartBatchFunction"}
# No state calls them, but ``fanout doctor`` and ``fanout selftest``. The first is once a mount.
EXAMINES_MOUNT = {"ExamineNetworkFunction"}
EXAMINES_TURNS = {"ExamineTurnsFunction"}
ASKED = EXAMINES_MOUNT | EXAMINES_TURNS
# Those of a probe, which has a state machine of its own for each mount.
PROBE_MOUNTED = {"OpenProbeFunction", "RunExperimentFunction", "CloseProbeFunction"}
PROBE = PROBE_MOUNTED | {"PlanProbeFunction", "SummariseProbeFunction"}
FANNED_OUT = {
    *("ListSegment", "CopyShard", "RecordShardFailure", "FinishShard", "DeleteShard", "VerifyShard", "RunExperiment")
}
# Those of nested templates, which are given the name of the stack.
NESTED_FUNCTIONS = MOUNTED | ASKED | BESIDE | PROBE | PACING | CHECKSUMS
KNOWS_MOUNTS = (
    MOUNTED
    | EXAMINES_MOUNT
    | PROBE_MOUNTED
    | {"PlanTransferFunction", "PlanProbeFunction", "SummariseTransferFunction"}
)


class ShortForms(yaml.CSafeLoader):
    """As cfn-lint reads a template (test_template.py), whose import alone takes as long as collecting most rooms."""


def _spelled_out(loader: ShortForms, name: str, node: yaml.Node) -> Resource:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        value = value.split(".", 1) if name == "GetAtt" else value
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


ShortForms.add_multi_constructor("!", _spelled_out)


@cache
def template(path: Path = TEMPLATE) -> Resource:
    """A template with its short forms spelled out; a copy, in which no two places are one."""
    loaded: Resource = json.loads(json.dumps(yaml.load(path.read_text(), ShortForms)))
    return loaded


@cache
def resources() -> dict[str, Resource]:
    """Every resource of every template by its name; no two templates use the same one."""
    found: dict[str, Resource] = {}
    for path in EVERY:
        own = template(path)["Resources"]
        assert not found.keys() & own.keys()
        found |= own
    return found


def stacks() -> dict[str, tuple[Path, Resource]]:
    """The nested stacks of the main template by their names: the template of each, and what it is given."""
    return {
        name: (REPO / r["Properties"]["TemplateURL"], r["Properties"]["Parameters"])
        for name, r in template()["Resources"].items()
        if r["Type"] == STACK
    }


def of_type(kind: str) -> dict[str, Resource]:
    """The resources of one type."""
    return {name: r for name, r in resources().items() if r["Type"] == kind}


@cache
def functions() -> dict[str, Resource]:
    """The properties of every function, in the words of SAM, with the globals that SAM adds to each of its own."""
    shared = template()["Globals"]["Function"]
    found = {name: {**shared, **r["Properties"]} for name, r in of_type("AWS::Serverless::Function").items()}
    for function in found.values():
        variables = function["Environment"]["Variables"]
        function["Environment"] = {"Variables": {**shared["Environment"]["Variables"], **variables}}
    for name, r in of_type("AWS::Lambda::Function").items():
        own = {key: with_mount(value) for key, value in r["Properties"].items()}
        own["Environment"] = {"Variables": {k: with_mount(v) for k, v in own["Environment"]["Variables"].items()}}
        found[name] = {**own, "CodeUri": own["Code"].removeprefix("../"), "Tracing": own["TracingConfig"]["Mode"]}
    return found


def with_mount(value: Any) -> Any:
    """The value that a function has where it mounts a file system."""
    chosen = value.get("Fn::If") if isinstance(value, dict) else None
    return chosen[1] if chosen and chosen[0] == "Mounts" else value


def sizes_of(function: Resource) -> tuple[list[float], list[float]]:
    """The least and the most that parameters let a function have: of seconds, and of MB."""
    return _bounds_of(function["Timeout"]), _bounds_of(function["MemorySize"])


def _bounds_of(value: Any) -> list[float]:
    if not isinstance(value, dict):
        return [value, value]
    parameter = template()["Parameters"][value["Ref"]]
    return [parameter["MinValue"], parameter["MaxValue"]]


def folder_of(function: str) -> Path:
    """The folder that holds a function: one word names both."""
    word = function.removesuffix("Function")
    return REPO / "functions" / re.sub(r"(?<!^)([A-Z])", r"_\1", word).lower()


def arns() -> dict[str, Any]:
    """What the main template calls the ARN of each function of a transfer, and of those that are made once more."""
    found: dict[str, Any] = {
        name: {"Fn::GetAtt": [name, "Arn"]} for name in functions() if name not in NESTED_FUNCTIONS
    }
    for stack, names in (("Pacing", PACING), ("Checksums", CHECKSUMS)):
        found |= {name: {"Fn::GetAtt": [stack, f"Outputs.{name}Arn"]} for name in names}
    for name in MOUNTED:
        found[name] = {"Fn::GetAtt": ["FirstMount", f"Outputs.{name}Arn"]}
        for prefix, stack in AGAIN.items():
            found[f"{prefix}{name}"] = {"Fn::GetAtt": [stack, f"Outputs.{name}Arn"]}
    return found


def abilities(role: Resource) -> dict[str, str]:
    """The managed policies of a role, each with the condition under which it has it; empty for always."""
    found = {}
    for one in role["Properties"].get("ManagedPolicyArns", []):
        condition, policy = "", one
        if "Fn::If" in one:
            condition, policy, otherwise = one["Fn::If"]
            assert otherwise == {"Ref": "AWS::NoValue"}
        # In the main template an output of Policies, in a nested one a parameter or a policy of its own.
        name = policy["Ref"] if "Ref" in policy else policy["Fn::GetAtt"][1].removeprefix("Outputs.")
        found[name.removesuffix("Arn")] = condition
    for name, policy in of_type("AWS::IAM::ManagedPolicy").items():
        if any(role is resources().get(one) for one in _attached_to(policy)):
            [found[name]] = {r["Condition"] for r in template()["Resources"].values() if _brings(r, name)}
    return found


# The roles, by the parameters under which a nested template knows their names.
ROLE_NAMES = {"SignerRoleName": "SummariseTransferRole"}


def _attached_to(policy: Resource) -> list[str]:
    """The roles that a policy names itself."""
    return [ROLE_NAMES[one["Ref"]] for one in policy["Properties"].get("Roles", [])]


def _brings(stack: Resource, policy: str) -> bool:
    """Whether a resource is the nested stack that holds a policy."""
    return stack["Type"] == STACK and policy in template(REPO / stack["Properties"]["TemplateURL"])["Resources"]


def roles_with(policy: str) -> set[str]:
    """The roles that have a managed policy."""
    return {name for name, role in of_type("AWS::IAM::Role").items() if policy in abilities(role)}


def own_policies(role: str) -> dict[str, Resource]:
    """The policies beside a role of a function that are its alone: what it writes of the ledger, by its name."""
    return {
        name: r for name, r in of_type("AWS::IAM::Policy").items() if name == f"{role.removesuffix('Role')}LedgerPolicy"
    }


def policies() -> Iterator[tuple[str, Resource]]:
    """Every statement of every policy of roles, buckets, endpoints and file systems."""
    for name, resource in resources().items():
        for document in documents(resource.get("Properties", {})):
            for statement in document["Statement"]:
                for choice in statement["Fn::If"][1:] if "Fn::If" in statement else [statement]:
                    if "Effect" in choice:
                        yield name, choice


def documents(value: Any) -> Iterator[Resource]:
    """Every policy document inside a value."""
    if isinstance(value, list):
        for item in value:
            yield from documents(item)
    elif isinstance(value, dict):
        if "Statement" in value:
            yield value
        else:
            for item in value.values():
                yield from documents(item)


def actions(statement: Resource) -> list[str]:
    """The actions that a statement names; one that stands under a condition is its first alternative."""
    found = statement.get("Action", [])
    found = found if isinstance(found, list) else [found]
    return [action["Fn::If"][1] if isinstance(action, dict) else action for action in found]
