"""The table of steps: each state has a row, each row a use case, and each function its folder."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.flow import steps
from fanout.flow.belongs import PARTS, RUNS
from fanout.flow.calls import load
from fanout.flow.events import batch_run_id
from fanout.flow.evidence import Evidence
from fanout.flow.steps import STEPS
from fanout.ledger.run_places import run_prefix
from fanout.ledger.sealing import Seals
from fanout.runtime.questions import QUESTIONS
from tests.support.definitions import definition

NAMED = re.compile(r'"([a-z_.]+:[A-Za-z_]+)"')
FUNCTIONS = Path(__file__).parents[2] / "functions"


def tasks(flow: Any) -> Iterator[tuple[str, Any]]:
    """The Task states of a flow, and of the branches and Maps in it."""
    for name, state in flow["States"].items():
        if state["Type"] == "Task":
            yield name, state
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from tasks(inner)


TASKS = dict([*tasks(definition()), *tasks(definition("probe"))])


def test_every_task_has_a_step_and_every_step_but_that_of_a_queue_a_task() -> None:
    assert TASKS.keys() == STEPS.keys() - {"StartBatch"}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_names_its_step_and_calls_the_function_of_it(name: str) -> None:
    parameters, step = TASKS[name]["Parameters"], STEPS[name]
    assert parameters["Payload"]["step"] == name
    if step.mount:
        assert parameters["FunctionName.$"] == f"$.run.functions.{step.acts_as or name}"
    else:
        assert parameters["FunctionName"] == step.function


@pytest.mark.parametrize("name", STEPS)
def test_a_step_has_a_use_case_that_takes_a_context(name: str) -> None:
    assert "context" in inspect.signature(STEPS[name].load()).parameters


def test_every_function_that_the_flow_names_is_there() -> None:
    folder = Path(steps.__file__).parent
    names = [name for path in folder.glob("*.py") for name in NAMED.findall(path.read_text())]
    assert len(names) > len(STEPS)
    assert all(callable(load(name)) for name in names)


def test_every_function_has_a_folder_of_three_lines_and_does_the_step_of_its_name() -> None:
    folders = {path.parent.name: path.read_text() for path in FUNCTIONS.glob("*/app.py")}
    names = {"".join(word.capitalize() for word in folder.split("_")): text for folder, text in folders.items()}
    assert names.keys() == {step.function for step in STEPS.values()} | QUESTIONS.keys()
    for name, text in names.items():
        assert name in QUESTIONS or STEPS[name].function == name
        assert len(text.splitlines()) == 3 and f'handler_of("{name}")' in text


def test_all_steps_of_a_function_do_the_same_with_the_seal() -> None:
    """The role of a function can read the run's secret, or cannot: so its steps write what the next one believes."""
    found = {(step.function, step.seals) for step in STEPS.values()}
    assert len(found) == len({step.function for step in STEPS.values()})
    assert {function for function, seals in found if seals is Seals.SIGNS} == {"SummariseTransfer"}


def test_every_step_of_a_planned_run_says_which_runs_have_it() -> None:
    assert RUNS.keys() == {name for name, step in STEPS.items() if step.evidence is Evidence.PLAN}
    assert all(
        RUNS[step.acts_as] is RUNS[name] for name, step in STEPS.items() if step.acts_as in RUNS and name in PARTS
    )


def test_every_step_that_works_on_a_part_holds_it_against_the_ledger() -> None:
    sent = {name: TASKS[name]["Parameters"]["Payload"].keys() for name in RUNS}
    assert PARTS.keys() == {name for name, fields in sent.items() if {"segment.$", "shard.$"} & fields}


def batch_of(*message_ids: str) -> str:
    return batch_run_id({"Records": [{"messageId": one, "body": ""} for one in message_ids]})


def test_the_same_messages_are_the_same_run_and_its_name_can_be_one() -> None:
    assert batch_of("a", "b") == batch_of("b", "a") != batch_of("a")
    assert run_prefix(batch_of("a")).startswith("runs/batch-")
