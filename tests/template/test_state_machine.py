"""The state machine and the functions that the templates give it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fanout.facts import aws
from fanout.flow.steps import MOUNTING
from tests.template.templates import (
    AGAIN,
    ASKED,
    BESIDE,
    CONDITIONS_OF,
    MOUNTED,
    PROBE,
    PROBE_STATE_MACHINE,
    STATE_MACHINE,
    Resource,
    arns,
    functions,
    of_type,
    policies,
    resources,
    sizes_of,
)


def test_a_task_waits_a_little_longer_than_its_function_may_take() -> None:
    """So the function's own time-out is what is reported, and no attempt runs on unseen while it is retried."""
    limits = {
        f"${{{prefix}{name}Arn}}": max(sizes_of(f)[0]) for name, f in functions().items() for prefix in ("", *AGAIN)
    }
    tasks = list(tasks_of(json.loads(STATE_MACHINE.read_text(encoding="utf-8"))))
    # ListOneSegment calls the function of ListSegment, EndPacing that of PaceCopy, TakeOver that of GatherSegments.
    assert len(tasks) == len(functions()) - len(ASKED) - len(BESIDE) - len(PROBE) - len(MOUNTED) + len(MOUNTING) + 3
    probing = list(tasks_of(json.loads(PROBE_STATE_MACHINE.read_text(encoding="utf-8"))))
    assert len(probing) == len(PROBE)
    tasks += probing
    for task in tasks:
        parameters = task["Parameters"]
        chosen = parameters.get("FunctionName.$", "").rpartition(".")[2]
        limit = limits[f"${{{MOUNTING[chosen]}FunctionArn}}" if chosen else parameters["FunctionName"]]
        # One that no parameter moves may have the time-out of those that one does.
        assert limit < task["TimeoutSeconds"]
        assert task["TimeoutSeconds"] <= limit + 60 or limit == aws.FUNCTION_SECONDS


def tasks_of(machine: Resource) -> Iterator[Resource]:
    """The Task states of a state machine, and of the branches and Maps in it."""
    for state in machine["States"].values():
        if state["Type"] == "Task":
            yield state
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from tasks_of(inner)


PARTITION = {"Partition": {"Ref": "AWS::Partition"}}


def test_every_placeholder_of_the_state_machine_is_substituted_and_invocable() -> None:
    placeholders = set(re.findall(r"\$\{(\w+)\}", STATE_MACHINE.read_text(encoding="utf-8")))
    (machine,) = of_type("AWS::Serverless::StateMachine").values()
    substitutions = machine["Properties"]["DefinitionSubstitutions"]
    assert set(substitutions) == placeholders
    twins = {f"{prefix}{name}": CONDITIONS_OF[stack] for name in MOUNTED for prefix, stack in AGAIN.items()}

    def given(otherwise: Any) -> dict[str, Any]:
        return {
            f"{name}Arn": {"Fn::If": [twins[name], arn, otherwise]} if name in twins else arn
            for name, arn in arns().items()
        }

    assert substitutions == given("") | PARTITION
    allowed = given({"Ref": "AWS::NoValue"}).values()
    (invoke,) = [s for name, s in policies() if name == "TransferRole" and s["Action"] == "lambda:InvokeFunction"]
    assert sorted(map(str, invoke["Resource"])) == sorted(map(str, allowed))


def test_the_state_machine_of_a_probe_calls_the_functions_of_its_template_and_no_other() -> None:
    placeholders = set(re.findall(r"\$\{(\w+)\}", PROBE_STATE_MACHINE.read_text(encoding="utf-8")))
    (machine,) = of_type("AWS::StepFunctions::StateMachine").values()
    given = {f"{name}Arn": {"Fn::GetAtt": [name, "Arn"]} for name in PROBE}
    assert machine["Properties"]["DefinitionSubstitutions"] == given | PARTITION
    assert set(given | PARTITION) == placeholders
    assert machine["Properties"]["DefinitionS3Location"] == "../statemachine/probe.asl.json"
    (invoke,) = [s for name, s in policies() if name == "ProbeRole" and s["Action"] == "lambda:InvokeFunction"]
    assert sorted(map(str, invoke["Resource"])) == sorted(map(str, given.values()))


def test_every_function_has_a_place_for_what_it_fails_at() -> None:
    """A state machine calls it, whose states catch (tests/statemachine/test_error_policy.py), or a queue keeps it.

    Or doctor says it.
    """
    called = {
        name.removesuffix("Arn")
        for machine in machines()
        for name in machine["Properties"]["DefinitionSubstitutions"].keys() - PARTITION.keys()
    }
    fed = {m["Properties"]["FunctionName"]["Ref"]: m["Properties"] for m in mappings()}
    assert functions().keys() - called - ASKED == fed.keys() == BESIDE
    assert not called & ASKED
    for mapping in fed.values():
        queue = resources()[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]
        kept = resources()[queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]]
        assert kept["Type"] == "AWS::SQS::Queue"
        assert kept["Properties"]["MessageRetentionPeriod"] >= 14 * 86_400


def machines() -> Iterator[Resource]:
    yield from of_type("AWS::Serverless::StateMachine").values()
    yield from of_type("AWS::StepFunctions::StateMachine").values()


def mappings() -> Iterator[Resource]:
    yield from of_type("AWS::Lambda::EventSourceMapping").values()
