"""The file as a graph: all of it is used, all of it ends, and no caught error turns green."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest

from .definition import Json, load, workflows

WORKFLOWS = dict(workflows(load()))
# The states that write down a caught error before the flow goes on, or hand one of the pacing on to those that do.
BOOKKEEPERS = {"SummariseTransfer", "RecordShardFailure", "CopyingBroke", "KeepError", "PacingFailed", "EndNotNoted"}


def targets(state: Json) -> set[str]:
    """The states that may follow a state in its own workflow."""
    branches = [state, *state.get("Choices", []), *state.get("Catch", [])]
    default = {state["Default"]} if "Default" in state else set()
    return default | {branch["Next"] for branch in branches if "Next" in branch}


def reached(states: Json, starts: Iterable[str], stop_at: Collection[str] = ()) -> set[str]:
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += targets(states[name]) if name not in stop_at else []
    return found


def after_catch(states: Json) -> Json:
    """The states as a caught error finds them: a choice that asks for one first goes where it says."""

    def asked(state: Json) -> Json:
        caught = [one for one in state.get("Choices", ()) if one.get("IsPresent") is True]
        return {**state, "Choices": caught, "Default": caught[0]["Next"]} if caught else state

    return {name: asked(state) for name, state in states.items()}


def is_end(state: Json) -> bool:
    return state["Type"] in ("Succeed", "Fail") or state.get("End") is True


def is_green(state: Json) -> bool:
    return is_end(state) and state["Type"] != "Fail"


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_every_target_exists_and_every_state_can_be_reached(workflow: Json) -> None:
    assert reached(workflow["States"], [workflow["StartAt"]]) == set(workflow["States"])


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_every_state_goes_on_or_ends_and_from_every_one_an_end_can_be_reached(workflow: Json) -> None:
    states = workflow["States"]
    for name, state in states.items():
        follows = "Default" in state if state["Type"] == "Choice" else "Next" in state
        assert follows != is_end(state), name
        assert any(is_end(states[end]) for end in reached(states, [name])), name


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_no_caught_error_ends_green_but_through_the_books(workflow: Json) -> None:
    states = after_catch(workflow["States"])
    caught = {catcher["Next"] for state in states.values() for catcher in state.get("Catch", [])}
    through = reached(states, caught, stop_at=BOOKKEEPERS)
    assert {name for name in through if is_green(states[name])} <= BOOKKEEPERS


def test_the_books_of_the_run_end_green_in_one_word_only() -> None:
    states = WORKFLOWS["root"]["States"]
    assert targets(states["SummariseTransfer"]) == {"TransferSucceeded?", "FailedInfrastructure"}
    green = [rule for rule in states["TransferSucceeded?"]["Choices"] if is_green(states[rule["Next"]])]
    assert green == [{"Variable": "$.summary.status", "StringEquals": "SUCCEEDED", "Next": "Succeeded"}]
    assert states[states["TransferSucceeded?"]["Default"]]["Type"] == "Fail"
    assert [name for name, state in states.items() if is_green(state)] == ["Succeeded", "Skipped"]
    # The other green end is reached before anything was done, and only by the plan's own word for it.
    assert {name for name, state in states.items() if "Skipped" in targets(state)} == {"AlreadyRunning?"}
    skips = {"Variable": "$.holder", "IsPresent": True, "Next": "Skipped"}
    assert states["AlreadyRunning?"]["Choices"][0] == skips
    assert {name for name, state in states.items() if "AlreadyRunning?" in targets(state)} == {"PlanTransfer"}


def test_nothing_is_copied_after_a_caught_error_of_the_listing() -> None:
    states = dict(WORKFLOWS["root"]["States"])
    guarded = states["WhatToVerify?"]
    assert guarded["Choices"][0] == {"Variable": "$.error", "IsPresent": True, "Next": "ToPublish?"}
    states["WhatToVerify?"] = {**guarded, "Choices": guarded["Choices"][:1], "Default": "ToPublish?"}
    for name in ("PlanTransfer", "CheckMount", "ListOneSegment", "ListTree", "GatherSegments", "PartitionShards"):
        after = reached(states, {catcher["Next"] for catcher in states[name]["Catch"]})
        assert after.isdisjoint({"PartitionShards", "CopyInPace"}), name
