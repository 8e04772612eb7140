"""The form of the file: JSON, names, comments, references, and what it must not use."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint

from fanout.flow.steps import MOUNTING, STEPS, functions_of
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout.request.plan import Plan

from .definition import ASL_FILE, PLACEHOLDER, PROBE_FILE, Json, State, load, source_text, states, substitutions, tasks

CHOSEN = MOUNTING.keys()
STATES = states(load())
TASKS = tasks(load())
MAPS = [state for state in STATES if state.body["Type"] == "Map"]
PASCAL_CASE = re.compile(r"([A-Z][a-z]+)+")
FORBIDDEN = (
    *("JSONata", "QueryLanguage", '"Assign"', "ItemBatcher", "WriterConfig", "EXPRESS"),
    *("startExecution", "$$.Execution.StartTime", "aws-sdk:s3:putObject"),
)


def offenders(states: Iterable[State], holds: Callable[[State], bool]) -> list[str]:
    """The names of the states of which something does not hold."""
    return [state.name for state in states if not holds(state)]


def values(node: Any, key: str = "") -> list[tuple[str, Any]]:
    """Every key of the document with its value, at any depth."""
    if isinstance(node, dict):
        return [pair for name, value in node.items() for pair in [(name, value), *values(value, name)]]
    if isinstance(node, list):
        return [pair for value in node for pair in values(value, key)]
    return []


def test_every_state_states_its_contract() -> None:
    assert offenders(STATES, lambda state: state.body.get("Comment", "").endswith(".")) == []


def test_names_are_pascal_case_and_choices_are_questions() -> None:
    assert offenders(STATES, lambda state: state.name.endswith("?") == (state.body["Type"] == "Choice")) == []
    assert offenders(STATES, lambda state: PASCAL_CASE.fullmatch(state.name.removesuffix("?")) is not None) == []


def test_no_name_is_used_twice() -> None:
    """A name is a resource, a folder and a test too, so it is unique across the child workflows."""
    names = [state.name for state in STATES]
    assert len(set(names)) == len(names)


def test_nothing_is_used_on_which_the_engines_disagree() -> None:
    assert [word for word in FORBIDDEN if word in source_text()] == []


@pytest.mark.parametrize("file", [ASL_FILE, PROBE_FILE], ids=lambda file: file.stem)
def test_every_substitution_is_a_whole_quoted_string_or_the_partition_of_a_service(file: Path) -> None:
    text = source_text(file).replace('"arn:${Partition}:states:::', '"')
    assert text.count("${") == len(re.findall(rf'"{PLACEHOLDER.pattern}"', text))


@pytest.mark.parametrize("file", [ASL_FILE, PROBE_FILE], ids=lambda file: file.stem)
def test_no_partition_is_written_out(file: Path) -> None:
    """With `arn:aws:` a definition deploys in GovCloud and China, and every state of it fails."""
    assert "arn:aws" not in source_text(file)


def calls_its_function(task: State) -> bool:
    parameters, step = dict(task.body["Parameters"]), STEPS[task.name]
    state = step.acts_as or task.name
    chosen, named = {"FunctionName.$": f"$.run.functions.{state}"}, {"FunctionName": f"${{{step.function}FunctionArn}}"}
    has_payload = parameters.pop("Payload", None) is not None
    return has_payload and parameters == (chosen if state in CHOSEN else named)


def test_every_task_calls_the_function_of_its_step() -> None:
    assert {task.body["Resource"] for task in TASKS} == {"arn:${Partition}:states:::lambda:invoke"}
    assert offenders(TASKS, calls_its_function) == []


def test_the_plan_knows_a_function_for_every_state_that_it_chooses_one_for() -> None:
    plan = next(task.body for task in TASKS if task.name == "PlanTransfer")
    offered = plan["Parameters"]["Payload"]["functions"]
    request = parse_request({"source": "efs://a/x", "destination": "efs://b/y"}, ("a", "b"), 1)
    functions = functions_of(Plan("run", request, Rates(0.01, 1e6)), ("a", "b"), offered)
    assert sorted(functions) == sorted(CHOSEN)
    assert set(functions.values()) < set(offered[0].values()) | set(offered[1].values())


def keeps_the_payload_alone(task: State) -> bool:
    keeps = (task.body.get("ResultPath", "$") is None, "ResultSelector" in task.body, "OutputPath" in task.body)
    selected = task.body.get("ResultSelector", {}).values()
    return keeps.count(True) == 1 and all(f"{path}.".startswith("$.Payload.") for path in selected)


def test_every_task_says_what_it_keeps_of_the_answer() -> None:
    """Nothing of the envelope of an invocation (headers, request ids) travels on."""
    assert offenders(TASKS, keeps_the_payload_alone) == []


def test_only_the_plan_sees_the_request() -> None:
    """Five Tasks take their whole input; the plan's answer replaces the request before the others run."""
    whole = {task.name: dict(values(task.body["Parameters"])) for task in TASKS}
    assert {name for name, parameters in whole.items() if "$" in parameters.values()} == {
        "PlanTransfer",
        "FinishTree",
        "PublishVersion",
        "RemoveDirectories",
        "SummariseTransfer",
    }
    plan = next(task.body for task in TASKS if task.name == "PlanTransfer")
    assert plan["OutputPath"] == "$.Payload" and "ResultPath" not in plan
    assert "$$.Execution.Input" not in source_text()


def test_what_travels_is_a_closed_list_of_references() -> None:
    travelling = {value.split(".")[1] for _, value in values(load()) if isinstance(value, str) and value[:2] == "$."}
    assert travelling == {
        *("run", "list", "gathered", "shards", "segment", "shard", "cursor", "done", "error", "summary", "finish"),
        *("Payload", "next", "until", "deletion", "removed", "holder", "pace", "note", "looked", "published", "short"),
    }


def keeps_its_results_apart(state: State) -> bool:
    body = state.body
    is_distributed = body["ItemProcessor"]["ProcessorConfig"] == {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    reads_json = body["ItemReader"]["ReaderConfig"] == {"InputType": "JSON"}
    is_labelled = body["Label"] == state.name
    return is_distributed and reads_json and is_labelled and body["ResultPath"] is None and "ResultWriter" in body


def test_a_map_is_distributed_and_its_results_stay_in_the_work_bucket() -> None:
    """Without a ResultWriter a Map fails on AWS once its children's results pass 256 KiB."""
    assert len(MAPS) > 3
    assert offenders(MAPS, keeps_its_results_apart) == []


def complaints(definition: Json) -> list[str]:
    """What cfn-lint says about the definition; it looks into one only where it stands in the resource itself.

    Its schema knows no substitution inside an ARN.
    """
    definition = json.loads(json.dumps(definition).replace("${Partition}", "aws"))
    properties = {
        "RoleArn": "arn:aws:iam::123456789012:role/transfer",
        "Definition": definition,
        "DefinitionSubstitutions": substitutions(),
    }
    resource = {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"TransferStateMachine": resource}}
    return [str(match) for match in lint(json.dumps(template))]


def test_cfn_lint_accepts_the_file() -> None:
    assert complaints(load()) == []


def test_cfn_lint_looks_into_the_file() -> None:
    broken = load()
    del broken["States"]["PlanTransfer"]["Retry"][0]["ErrorEquals"]
    assert ["ErrorEquals" in complaint for complaint in complaints(broken)] == [True]
