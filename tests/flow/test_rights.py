"""The flow under the rights of the deployed roles: no state lacks one, wherever it is entered, whatever the trees."""

from __future__ import annotations

from functools import cache

import pytest

from fanout.flow.steps import STEPS
from fanout.flow.walker import StateFailed
from fanout.model.document import Json
from tests.support.deployed import Break, Deployed, Edge, all_edges
from tests.support.deployed_runs import (
    COURSES,
    ENDS,
    KINDS,
    broken,
    failed,
    fill,
    handed_on,
    paused,
    plain,
    request,
    run,
    stack,
)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("course", COURSES)
def test_no_state_lacks_a_right(ends: str, course: str) -> None:
    """A sync of an empty source is refused by its guard, and by no role."""
    for files, short in ((0, False), (0, True), (4, False), (4, True)):
        one = fill(stack(ends, short=short), files)
        summary = run(one, request(ends, course))
        name = (summary["error"] or {}).get("name", "")
        assert name in ("", "FailedWithItems", *(["DeleteRefused"] if not files else [])), summary["error"]


# Each state that works, by a kind of run that comes to it: with the run's ledger, and with the one inside.
IN_RUN = {
    **dict.fromkeys(("PlanTransfer", "CheckMount", "ListOneSegment", "GatherSegments", "PartitionShards"), "copy"),
    **dict.fromkeys(
        ("CopyShard", "RecordShardFailure", "FinishTree", "BeginVerification", "items shards.json"), "copy"
    ),
    **dict.fromkeys(("CheckOtherMount", "ListSegment", "ListDestination", "DigestDestination"), "apart"),
    **dict.fromkeys(("PackShard", "UnpackShard", "PaceCopy", "EndPacing", "items round-0001.json"), "apart"),
    **dict.fromkeys(("LookAtSource", "LookAtDirectories"), "apart"),
    **dict.fromkeys(("BeginDeletion", "DeleteShard", "RemoveDirectories", "items deletions.json"), "sync"),
    **dict.fromkeys(("FinishShard", "items round-0000.json"), "large"),
    **dict.fromkeys(("ShortWay", "TakeOver"), "short"),
    "RestoreObjects": "archived",
    "ComputeChecksums": "computed",
    "SummariseTransfer": "short",
}
INSIDE = {
    **dict.fromkeys(
        ("ListOneSegment", "GatherSegments", "PartitionShards", "VerifyShard", "SummariseTransfer"), "copy"
    ),
    **dict.fromkeys(("ListSegment", "ListDestination", "DigestShard", "items round-0001.json"), "apart"),
    **dict.fromkeys(("BeginDeletion", "DeleteShard", "RemoveDirectories", "items shards.json"), "move"),
    "PublishVersion": "publish",
}
PAUSING = {state for state, step in STEPS.items() if step.hands_back is not None and state != "PaceCopy"}
PLACES = [(state, kind, False) for state, kind in IN_RUN.items()] + [
    (state, kind, True) for state, kind in INSIDE.items()
]
# What these lose is a row of the ledger, a note, or done by the ordinary way.
GOES_ON = {
    *("CopyShard", "DigestDestination", "PackShard", "UnpackShard", "RecordShardFailure", "DeleteShard", "FinishShard"),
    *("LookAtSource", "VerifyShard", "DigestShard", "PaceCopy", "EndPacing", "ShortWay", "ComputeChecksums"),
    "items round-0000.json",
}
# Their errors end an execution that has no summary.
WITHOUT_SUMMARY = {"PlanTransfer", "CheckMount", "SummariseTransfer"}


@pytest.mark.parametrize(("state", "kind", "compares"), PLACES)
def test_a_state_that_breaks_leaves_its_cause_and_no_state_after_it_lacks_a_right(
    state: str, kind: str, compares: bool
) -> None:
    for after in (False, True):
        if after and state.startswith("items"):
            continue
        one, summary = failed(state, kind, compares, after)
        if state in WITHOUT_SUMMARY:
            assert one.ended is not None and "the cause" in one.ended.cause
        elif state not in GOES_ON:
            assert summary["status"] == "FAILED"
            is_map = state in ("ListSegment", "ListDestination")
            assert ("States.ExceedToleratedFailureThreshold" if is_map else "the cause") in summary["error"]["message"]


# Steps that hand back outside of the window of a run, and a kind of run that comes to each.
PAUSED = [
    *((state, kind, False) for state, kind in IN_RUN.items() if state in PAUSING),
    *((state, kind, True) for state, kind in INSIDE.items() if state in PAUSING),
]


@pytest.mark.parametrize(("state", "kind", "compares"), PAUSED)
def test_a_state_without_time_hands_back_with_its_own_rights(state: str, kind: str, compares: bool) -> None:
    for again in (False, True):
        one, summary = paused(state, kind, compares, again)
        assert (summary["error"] or {}).get("name", "FailedWithItems") == "FailedWithItems"
        assert any(name.startswith("Wait") for name in one.entered) is not again


# Where the short way hands on, by what it could not do.
HANDED_ON = {
    **{name: name for name in ("CheckMount", "GatherSegments", "PartitionShards", "FinishTree")},
    "ListSegment": "OneSegment?",
    "CopyShard": "CopyInPace",
}
LOST = ("Runtime.ExitError", "Sandbox.Timedout", "Transient")


@pytest.mark.parametrize("state", HANDED_ON)
def test_where_the_short_way_breaks_off_the_ordinary_way_goes_on(state: str) -> None:
    one, summary = handed_on(state)
    assert summary["status"] == "SUCCEEDED"
    assert Edge("HowFar?", HANDED_ON[state], "choice") in one.edges


@cache
def lost(error: str) -> tuple[Deployed, Json]:
    """A run whose short way is lost after its work."""
    return broken("short", Break("ShortWay", after=True, error=StateFailed(error)))


@pytest.mark.parametrize("error", LOST)
def test_a_short_way_that_is_lost_is_taken_over(error: str) -> None:
    assert lost(error)[1]["status"] == "SUCCEEDED"


# Ways that no run in memory goes, each with its reason.
NOT_WALKED = {
    Edge("CopyInPace", "FinishTree", "catch"): "both branches catch everything",
    Edge("CopyingOver?", "PaceCopy", "choice"): "no Map runs that could be paced: tests/pacing",
    Edge("CopyingOver?", "WaitToPace", "choice"): "the same",
    Edge("WaitToPace", "PaceCopy", "next"): "the same",
    Edge("WhatIsRestored?", "RestoreObjects", "choice"): "the state again, of very many objects: tests/runs",
    Edge("AreTheyComputed?", "ComputeChecksums", "choice"): "the same: tests/checksums",
    Edge("HowFar?", "DirectoriesInSight?", "choice"): "a short way begins no deletion: tests/flow",
}


def test_every_way_of_the_machine_is_walked() -> None:
    """But those into the two states in which nothing works any more."""
    runs = [
        failed(*place, after) for place in PLACES for after in (False, True)[: 1 + (not place[0].startswith("items"))]
    ]
    runs += [paused(*place, again) for place in PAUSED for again in (False, True)]
    runs += [handed_on(state) for state in HANDED_ON]
    runs += [lost(error) for error in LOST]
    runs += [plain(kind) for kind in KINDS]
    walked = {edge._replace(compares=False) for one, _ in runs for edge in one.edges}
    ends = ("Skipped", "FailedInvalidRequest")
    left = {edge for edge in all_edges() - walked if edge.following not in ends}
    assert sorted(left - set(NOT_WALKED)) == []
    assert set(NOT_WALKED) <= left
