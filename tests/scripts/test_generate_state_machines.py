"""The words that the YAML of a state machine has beside those of the states language, and the drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from scripts import generate_state_machines as generator
from scripts.draw_flow import drawing

RETRIES = {"short": [{"ErrorEquals": ["A"]}], "long": [{"ErrorEquals": ["B"]}, {"ErrorEquals": ["C"]}]}
RETRIES["standard"] = [{"ErrorEquals": ["S"]}]
OF_TASKS = {"TimeoutSeconds": 1_830, "Retry": RETRIES["standard"]}
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
                "Parameters": {
                    "FunctionName": "${CopyShardFunctionArn}",
                    "Payload": {"step": "State", "run.$": "$.run"},
                },
                **OF_TASKS,
            },
        ),
        (
            {"Invoke": "$.run.functions.CopyShard", "Payload": {}, "TimeoutSeconds": 150, "Retry": "short"},
            {
                "Type": "Task",
                "Resource": "arn:${Partition}:states:::lambda:invoke",
                "Parameters": {"FunctionName.$": "$.run.functions.CopyShard", "Payload": {"step": "State"}},
                "TimeoutSeconds": 150,
                "Retry": RETRIES["short"],
            },
        ),
        (
            {"Invoke": "CopyShard", "Payload": ["run", "shard", {"end": "source"}], "Answers": ["run", "done"]},
            {
                "Type": "Task",
                "Resource": "arn:${Partition}:states:::lambda:invoke",
                "Parameters": {
                    "FunctionName": "${CopyShardFunctionArn}",
                    "Payload": {"step": "State", "run.$": "$.run", "shard.$": "$.shard", "end": "source"},
                },
                "ResultSelector": {"run.$": "$.Payload.run", "done.$": "$.Payload.done"},
                **OF_TASKS,
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
    assert generator._state("State", written, RETRIES, "transfer.yaml: State") == stands_for


def repeating(**more: str) -> generator.Json:
    repeats = {"Until": "End", "Asks": "Done?", "Wait": "WaitToWork", **more}
    return {"Invoke": "Work", "ResultPath": "$.found", "Repeats": repeats}


def test_a_task_repeats_by_a_question_and_a_wait() -> None:
    states = generator.repeated({"States": {"Work": repeating(), "End": {"Type": "Succeed"}}}, "x.yaml")["States"]
    assert list(states) == ["Work", "Done?", "WaitToWork", "End"]
    assert states["Work"] == {"Invoke": "Work", "ResultPath": "$.found", "Next": "Done?"}
    assert states["Done?"]["Choices"] == [
        {"Variable": "$.found.done", "BooleanEquals": True, "Next": "End"},
        {"Variable": "$.found.until", "StringGreaterThan": "", "Next": "WaitToWork"},
    ]
    assert states["Done?"]["Default"] == states["WaitToWork"]["Next"] == "Work"
    assert states["WaitToWork"]["TimestampPath"] == "$.found.until"


def test_a_task_in_a_map_repeats_from_where_it_says() -> None:
    inner = {"States": {"Work": repeating(Resumes="Ask?", Again="First")}}
    branch = {"States": {"All": {"Type": "Map", "ItemProcessor": inner}}}
    [found] = generator.repeated({"States": {"Both": {"Type": "Parallel", "Branches": [branch]}}}, "x")["States"][
        "Both"
    ]["Branches"]
    states = found["States"]["All"]["ItemProcessor"]["States"]
    assert (states["Done?"]["Default"], states["WaitToWork"]["Next"]) == ("First", "Ask?")


def test_tasks_share_a_wait_only_if_they_resume_at_the_same_state() -> None:
    other = repeating(Resumes="Ask?") | {"Repeats": repeating(Resumes="Ask?")["Repeats"] | {"Asks": "Other?"}}
    states = {"Work": repeating(Resumes="Ask?"), "Other": other}
    assert "WaitToWork" in generator.repeated({"States": states}, "x.yaml")["States"]
    with pytest.raises(SystemExit, match=r"x\.yaml: Other: WaitToWork is another state already"):
        generator.repeated({"States": {**states, "Work": repeating()}}, "x.yaml")


def test_an_unknown_scheme_names_file_state_and_what_is_known() -> None:
    with pytest.raises(SystemExit, match=r"transfer\.yaml: State: Retry 'shrot' is no scheme .* short, long"):
        generator._state("State", {"Retry": "shrot"}, RETRIES, "transfer.yaml: State")


def test_the_drawing_shows_the_marked_states_and_every_end() -> None:
    flow = generator.flow("transfer")
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
