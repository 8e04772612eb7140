"""What happens to runs under the rights of the deployed roles: other runs, sources that go, limits, versions."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.flow.steps import STEPS
from fanout.listing.deciding import decisions
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, OutOfTime
from fanout.shards.record import all_records
from fanout.turns.other_runs import other_runs_key
from tests.support.deployed import Break, Deployed, DeployedSides
from tests.support.deployed_runs import (
    ENDS,
    KINDS,
    PUBLISHES,
    broken,
    fill,
    on_mounts,
    publishing,
    put,
    request,
    run,
    stack,
)
from tests.support.memory import MemoryTree


def at_work(one: Deployed, asked: Json) -> Any:
    """The next run, beside the first, which is at work since it took its turn."""
    one.walker().walk("PlanTransfer", asked, {"OtherMount?", "ShortWay"})
    one.executing.at_work.add(one.execution)
    return one.next_run("run-2")


@pytest.mark.parametrize("short", [False, True])
def test_a_run_at_one_mount_denies_none_at_the_other(short: bool) -> None:
    """CheckMount notes whom it did not fence."""
    one = fill(Deployed(mounts=("data", "second"), short=short))
    two = at_work(one, {"source": "efs://second/in", "destination": "efs://second/copy"})
    assert run(two, {"source": "efs://data/in", "destination": "efs://data/copy"})["status"] == "SUCCEEDED"
    assert two.ledger.has(other_runs_key("destination"))


def test_the_same_transfer_twice_is_skipped() -> None:
    one, asked = KINDS["copy"]()
    two = at_work(one, asked)
    assert run(two, asked)["status"] == "SKIPPED"
    assert two.entered[-1] == "Skipped"


@pytest.mark.parametrize("course", ["copy, verify all", "move", "certificate"])
def test_a_source_that_is_gone_when_it_is_compared_is_the_cause(course: str) -> None:
    """A directory that is not there any more is not an empty one, and a Map does not hide that."""
    one = fill(stack("two mounts"))
    assert isinstance(one, DeployedSides)

    def gone() -> None:
        assert isinstance(one, DeployedSides)
        (one.base / "data/in").rename(one.base / "data/away")
        on_mounts(one)

    one.breaks = [Break("BeginVerification", act=gone)]
    error = run(one, request("two mounts", course))["error"]
    assert error["name"] == "InvalidRequest" and "/in/ is not a directory of the mount" in error["message"]
    assert [path.name for path in (one.base / "archive/out").iterdir() if "staging" in path.name] == []


@pytest.mark.parametrize("course", ["copy, verify all", "move"])
@pytest.mark.parametrize("state", ["ListOneSegment", "GatherSegments", "PartitionShards"])
def test_a_comparison_that_the_limit_of_time_ends_says_so(course: str, state: str) -> None:
    one = fill(stack("one mount"))

    def later() -> None:
        one.clock.time += 100

    one.breaks = [Break(state, compares=True, act=later)]
    error = run(one, request("one mount", course, limits={"max_seconds": 60}))["error"]
    assert error["name"] == OutOfTime.__name__


def test_a_move_that_is_started_again_moves_nothing_more() -> None:
    for ends in ("mount to S3", "two mounts"):
        one, asked = fill(stack(ends)), request(ends, "move")
        assert run(one, asked)["status"] == "SUCCEEDED"
        for run_id, more in (("run-2", {}), ("run-3", {"resume_from": "run-1"})):
            again = one.next_run(run_id)
            if isinstance(again, DeployedSides):
                on_mounts(again)
            assert run(again, {**asked, **more})["status"] == "SUCCEEDED"


def test_versions_are_published_removed_and_published_again() -> None:
    one = publishing(run_id="v1")
    assert run(one, PUBLISHES)["status"] == "SUCCEEDED"
    for number in (2, 3):
        one = one.next_run(f"v{number}")
        put(one, "source", f"d/{number}", b"new")
        assert run(one, {**PUBLISHES, "verify": "all"})["status"] == "SUCCEEDED"
    back = one.next_run("back")
    asked = {**PUBLISHES, "mode": "rollback", "source": "efs:///site/versions/v3"}
    assert run(back, asked)["status"] == "SUCCEEDED"
    nothing = one.next_run("v4")
    nothing.source = MemoryTree()
    assert run(nothing, PUBLISHES)["error"]["name"] == "DeleteRefused"


@pytest.mark.parametrize("state", ["PlanTransfer", "CheckMount"])
def test_a_request_that_is_refused_leaves_no_summary(state: str) -> None:
    one, summary = broken("copy", Break(state, error=InvalidRequest("source", "is wrong", "mend it")))
    assert summary == {} and one.ended is not None and one.ended.error == "InvalidRequest"


def test_the_steps_that_work_on_the_whole_run_are_declared() -> None:
    assert {name for name, step in STEPS.items() if step.whole_run} == {
        *("FinishTree", "PublishVersion", "SummariseTransfer", "SummariseProbe")
    }


@pytest.mark.parametrize("course", ["verify", "sync, verify all", "copy, verify all", "move"])
@pytest.mark.parametrize("ends", ENDS)
def test_a_run_that_takes_proofs_over_lacks_no_right(ends: str, course: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is stopped after it compared; a sync finds copies unchanged that were written within a second."""
    monkeypatch.setattr(decisions, "MARGIN_NS", 0)
    one = fill(stack(ends), extras=0)
    if course == "verify":
        run(one, request(ends, "copy, verify none"))
        one = next_of(one, "copied")
    one.breaks = [
        Break("BeginDeletion", compares=True) if course == "move" else Break("SummariseTransfer", always=True)
    ]
    one.run(request(ends, course))
    assert one.denied == []
    two = next_of(one, "run-2")
    summary = run(two, {"resume_from": one.run_id})
    assert summary["status"] == "SUCCEEDED", summary["error"]
    comparison = two.ledger if course == "verify" else two.ledger.verification()
    assert sum(record.taken_over for record in all_records(comparison)) > 0


def next_of(one: Deployed, run_id: str) -> Any:
    """The next run over the same trees, as it sees them."""
    found = one.next_run(run_id)
    return on_mounts(found) if isinstance(found, DeployedSides) else found
