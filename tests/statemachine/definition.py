"""The real ASL file: how it is loaded, filled in, walked and changed for a test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ASL_FILE = Path(__file__).parents[2] / "statemachine" / "transfer.asl.json"
PROBE_FILE = ASL_FILE.with_name("probe.asl.json")
FUNCTION_ARN = "arn:aws:lambda:eu-west-1:123456789012:function:{name}"
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")

Json = dict[str, Any]


class State(NamedTuple):
    """A state and the workflow that it belongs to (the root, or the Map or the branch that holds it)."""

    workflow: str
    name: str
    body: Json


def source_text(file: Path = ASL_FILE) -> str:
    return file.read_text(encoding="utf-8")


def load(file: Path = ASL_FILE) -> Json:
    """The file as it stands, with its ``${...}`` in place."""
    loaded: Json = json.loads(source_text(file))
    return loaded


def placeholders(file: Path = ASL_FILE) -> list[str]:
    return sorted(set(PLACEHOLDER.findall(source_text(file))))


def substitutions(file: Path = ASL_FILE) -> dict[str, str]:
    """``${CopyShardFunctionArn}`` becomes the ARN of a function with the name CopyShard."""
    functions = [name for name in placeholders(file) if name != "Partition"]
    arns = {name: FUNCTION_ARN.format(name=name.removesuffix("FunctionArn")) for name in functions}
    return {"Partition": "aws", **arns}


def workflows(definition: Json, name: str = "root") -> Iterator[tuple[str, Json]]:
    """The root workflow and, under the name of their Map or Parallel, the child workflows and numbered branches."""
    yield name, definition
    for state_name, body in definition["States"].items():
        for number, branch in enumerate(body.get("Branches", ()), 1):
            yield from workflows(branch, f"{state_name} {number}")
        if "ItemProcessor" in body:
            yield from workflows(body["ItemProcessor"], state_name)


def states(definition: Json) -> list[State]:
    return [
        State(workflow, name, body)
        for workflow, content in workflows(definition)
        for name, body in content["States"].items()
    ]


def tasks(definition: Json) -> list[State]:
    return [state for state in states(definition) if state.body["Type"] == "Task"]


def write_tolerated_percentage_as_a_float(definition: Json) -> None:
    """Moto's grammar takes 100.0 and refuses 100."""
    for state in states(definition):
        if "ToleratedFailurePercentage" in state.body:
            state.body["ToleratedFailurePercentage"] = float(state.body["ToleratedFailurePercentage"])


def drop_result_writers(definition: Json) -> None:
    """Moto resolves a ResultWriter's paths in the Map's results; AWS does so in the state's input.

    Nothing in the flow reads what a ResultWriter writes.
    """
    for state in states(definition):
        state.body.pop("ResultWriter", None)


ADAPTATIONS_FOR_MOTO = (write_tolerated_percentage_as_a_float, drop_result_writers)


def for_moto(file: Path = ASL_FILE) -> Json:
    """The file with its substitutions and the adaptations, and nothing else changed."""
    given = substitutions(file)
    text = PLACEHOLDER.sub(lambda found: given[found.group(1)], source_text(file))
    definition: Json = json.loads(text)
    for adapt in ADAPTATIONS_FOR_MOTO:
        adapt(definition)
    return definition
