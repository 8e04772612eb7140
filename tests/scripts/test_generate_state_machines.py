"""The words that the YAML of a state machine has beside those of the states language, and the drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
import yaml

from scripts import generate_state_machines as generator
from scripts.draw_flow import drawing

RETRIES = {"short": [{"ErrorEquals": ["A"]}], "long": [{"ErrorEquals": ["B"]}, {"ErrorEquals": ["C"]}]}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("written", "stands_for"),
    [
        ({"Retry": "short", "End": True}, {"Type": "Task", "Retry": [{"ErrorEquals": ["A"]}], "End": True}),
        (
            {"Type": "Map", "Retry": ["long", "short"]},
            {"Type": "Map", "Retry": [{"ErrorEquals": ["B"]}, {"ErrorEquals": ["C"]}, {"ErrorEquals": ["A"]}]},
        ),
        (
            {"Invoke": "CopyShard", "Payload": {"run.$": "$.run"}},
            {
                "Type": "Task",
                "Resource": "arn:${Partition}:states:::lambda:invoke",
                "Parameters": {"FunctionName": "${CopyShardFunctionArn}", "Payload": {"run.$": "$.run"}},
            },
        ),
        (
            {"Invoke": "$.run.functions.CopyShard", "Payload": {}},
            {
                "Type": "Task",
                "Resource": "arn:${Partition}:states:::lambda:invoke",
                "Parameters": {"FunctionName.$": "$.run.functions.CopyShard", "Payload": {}},
            },
        ),
        (
            {"Type": "Map", "Catch": {"A B": "First", "any": {"Next": "Second", "ResultPath": "$.note"}}},
            {
                "Type": "Map",
                "Catch": [
                    {"ErrorEquals": ["A", "B"], "ResultPath": "$.error", "Next": "First"},
                    {"ErrorEquals": ["States.ALL"], "ResultPath": "$.note", "Next": "Second"},
                ],
            },
        ),
        ({"Type": "Pass", "Drawn": "a box"}, {"Type": "Pass"}),
    ],
)
def test_what_a_word_stands_for(written: generator.Json, stands_for: generator.Json) -> None:
    assert generator._state(written, RETRIES, "transfer.yaml: State") == stands_for


def test_an_unknown_scheme_names_file_state_and_what_is_known() -> None:
    with pytest.raises(SystemExit, match=r"transfer\.yaml: State: Retry 'shrot' is no scheme .* short, long"):
        generator._state({"Retry": "shrot"}, RETRIES, "transfer.yaml: State")


def test_the_drawing_shows_the_marked_states_and_every_end() -> None:
    flow = yaml.safe_load((generator.FOLDER / "transfer.yaml").read_text(encoding="utf-8"))
    root = ElementTree.fromstring(drawing(flow))
    names = [one.text for one in root.iter(f"{SVG}text") if one.get("class") == "name"]
    assert 8 <= len(names) <= 14  # what fits one screen of 900 pixels
    assert names[0] == "PlanTransfer" and names[-1] == "SummariseTransfer"
    ends = next(one.text for one in root.iter(f"{SVG}text") if one.get("class") == "ends")
    assert ends is not None
    assert set(ends.split(" | ")) == {n for n, s in flow["States"].items() if s.get("Type") in ("Succeed", "Fail")}


def test_a_loop_is_drawn_and_a_long_jump_is_not() -> None:
    box = {"Drawn": "text"}
    states = {
        "A": {**box, "Next": "B"},
        "B": {**box, "Type": "Map", "Next": "More?"},
        "More?": {"Choices": [{"Next": "A"}], "Default": "C"},
        "C": {**box, "Next": "D"},
        "D": {**box, "Next": "A"},
    }
    paths = [one.get("d", "") for one in ElementTree.fromstring(drawing({"States": states})).iter(f"{SVG}path")]
    assert sum("C" in path for path in paths) == 1  # B to A
    assert sum("V" in path for path in paths) == 4  # A to B, B to C, C to D, and the end
