"""What somebody reaches who may invoke the functions and knows a run at work: no more than what its states ask for.

Each event is sent through the handlers while the run is under way, before a state; then the run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import fields

from fanout.flow.belongs import RUNS
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from fanout.model.segment import ManifestPart, Rows, Segment
from fanout.request.course import Mode
from fanout.request.plan import Plan
from fanout.shards.round_records import whole_listing
from tests.functions.conftest import Invoke
from tests.functions.run_at_work import BUCKET, MOUNT, OTHER, RUN, Forger, files, flow, forger, ledger, sent, shard_of
from tests.functions.test_hand_made_events import refused
from tests.support.handler_flow import HandlerFlow

__all__ = ["flow", "forger"]

# In the place of a field of a segment.
OTHERS: Json = {
    "id": "0001-000001",
    "prefix": "b",
    "after": "zzzz",
    "until": "b",
    "files_above": ["x"],
    "manifest": to_builtins(ManifestPart("k", "e", 1, Rows.JSONL, 0, 1)),
    "carried": "segments/carried-000000.json",
    "unlisted": "a",
    "budget_entries": 1,
    "budget_seconds": 0.001,
    "ways": 0,
}


def segments(forger: Forger, step: str, prefix: str) -> Callable[[], None]:
    """Sends the segment of round 1 with each of its fields as another, and one that no round has named."""

    def send() -> None:
        (genuine,) = ledger(prefix).read_json("segments/round-0001.json")
        for name, value in OTHERS.items():
            forger.send(step, sent(step, prefix, segment={**genuine, name: value}))
        for one in ("0000-000000", "0002-000000", "x", "", "1-", "-1"):
            forger.send(step, sent(step, prefix, segment={"id": one}))

    return send


@pytest.mark.parametrize(
    ("source", "verify", "prefix", "states"),
    [
        (BUCKET, "none", f"runs/{RUN}/", ("ListOneSegment",)),
        (OTHER, "none", f"runs/{RUN}/", ("ListDestination",)),
        (OTHER, "none", f"runs/{RUN}/", ("ListSegment",)),
        (BUCKET, "all", f"runs/{RUN}/verification/", ("BeginVerification", "ListOneSegment")),
    ],
)
def test_a_segment_that_no_round_holds_is_not_listed(
    forger: Forger, source: str, verify: str, prefix: str, states: tuple[str, ...], tmp_path: Path
) -> None:
    assert OTHERS.keys() == {one.name for one in fields(Segment)}
    forger.before(*states, send=segments(forger, states[-1], prefix))
    summary = forger.flow.run(RUN, {"source": source, "destination": MOUNT, "verify": verify})
    assert len(forger.said) == len(OTHERS) + 6
    assert summary["status"] == "SUCCEEDED"
    assert files(tmp_path / "data/out") == set("abc")
    assert ledger().read_json("summary.json")["totals"]["copied"]["entries"] >= 3
    if verify == "all":
        assert ledger().read_json("summary.json")["verification"]["compared"]["entries"] >= 3


def test_a_short_way_lists_no_segment_that_no_round_holds(flow: HandlerFlow, forger: Forger, tmp_path: Path) -> None:
    flow.plan(RUN, {"source": BUCKET, "destination": MOUNT})
    event = sent("ShortWay")
    event["list"] = {**event["list"], "segment": {"id": "0001-000000", "after": "zzzz"}}
    answer = flow.step("ShortWay", event)
    assert "is not as segments/round-0001.json holds it" in answer["short"]["why"]
    assert not list(ledger().keys("segments/done/"))
    assert files(tmp_path / "data/out") == set()


def test_a_move_deletes_no_shard_that_it_is_to_copy(forger: Forger, tmp_path: Path) -> None:
    def send() -> None:
        (row,) = ledger().read_json("shards.json")
        for prefix in (f"runs/{RUN}/", f"runs/{RUN}/verification/"):
            for step in ("DeleteShard", "LookAtSource"):
                with pytest.raises(FanoutError):
                    forger.flow.step(step, sent(step, prefix, shard=shard_of(row)))
        assert files(tmp_path / "archive/in") == set("abc")
        forger.said.append("sent")

    forger.before("CopyShard", send=send)
    summary = forger.flow.run(RUN, {"source": OTHER, "destination": "efs://archive/out", "mode": "move"})
    assert forger.said == ["sent"]
    assert summary["status"] == "SUCCEEDED"
    assert files(tmp_path / "archive/out") == set("abc")
    assert files(tmp_path / "archive/in") == set()


def test_a_move_deletes_nothing_but_what_it_has_proven(forger: Forger, tmp_path: Path) -> None:
    inner = f"runs/{RUN}/verification/"

    def send() -> None:
        (copied,), (proven,) = ledger().read_json("shards.json"), ledger(inner).read_json("deletions.json")
        forger.send("DeleteShard", sent("DeleteShard", inner, shard=shard_of(copied)))
        for name, value in {
            "id": "x",
            "key": shard_of(copied)["key"],
            "entries": 1,
            "bytes": 0,
            "linked": True,
        }.items():
            forger.send("DeleteShard", sent("DeleteShard", inner, shard={**shard_of(proven), name: value}))

    forger.before("DeleteShard", send=send)
    summary = forger.flow.run(RUN, {"source": OTHER, "destination": "efs://archive/out", "mode": "move"})
    assert len(forger.said) == 6
    assert summary["status"] == "SUCCEEDED"
    assert files(tmp_path / "archive/in") == set()


@pytest.mark.parametrize("source", [BUCKET, OTHER])
def test_a_sync_deletes_no_extras_before_its_guard_has_passed(forger: Forger, tmp_path: Path, source: str) -> None:
    (tmp_path / "data/out").mkdir()
    for name in "axyz":
        (tmp_path / "data/out" / name).write_bytes(b"precious")

    def send() -> None:
        (extras,) = [one for done in whole_listing(ledger()) for one in done.deletions if not one.directories]
        for step in ("DeleteShard", "LookAtSource"):
            forger.send(step, sent(step, shard=to_builtins(extras.shard)))

    forger.before("PartitionShards", send=send)
    with pytest.raises(Exception, match=r"over delete_guard\.max_count 0"):
        forger.flow.run(RUN, {"source": source, "destination": MOUNT, "mode": "sync", "delete_guard": {"max_count": 0}})
    assert len(forger.said) == 2
    assert files(tmp_path / "data/out") == set("axyz")


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.ROLLBACK])
def test_a_run_does_no_step_of_another_kind_of_run(
    flow: HandlerFlow, call: Invoke, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    flow.plan(RUN, {"source": BUCKET, "destination": MOUNT, "mode": mode.value})
    monkeypatch.setenv("FANOUT_MOUNTS", json.dumps({"data": str(tmp_path / "data")}))
    plan: Plan = ledger().read_plan()
    others = [step for step, has in RUNS.items() if not has(plan)]
    assert ("CopyShard" in others) is (mode in (Mode.PLAN, Mode.VERIFY))
    for step in others:
        (segment,) = ledger().read_json("segments/round-0001.json")
        said = refused(call, s3, tmp_path, monkeypatch, step, sent(step, segment=segment))
        assert f"{step} is not a step of a run of mode {mode.value}" in said or "is missing" in said


# Data of the last state that no execution entered it with.
FORGED: Json = {
    "error": {"Error": "X", "Cause": "forged"},
    "shards": {"extras": 0},
    "pace": {"copying": {}, "pacing": {"note": "forged"}},
}
EARLY = "is at .*, or does not show yet|with other data|state.run: is another"


@pytest.mark.parametrize("state", ["CheckMount", "ListOneSegment", "PartitionShards", "CopyShard", "SummariseTransfer"])
def test_a_run_is_closed_by_its_own_last_state(forger: Forger, state: str) -> None:
    def send() -> None:
        genuine = forger.flow.at[RUN]
        run = {**sent("x")["run"], "functions": {}}
        for more in ({}, *({name: value} for name, value in FORGED.items())):
            for whole in ({"run": run, **more}, {**(genuine[1] or {"run": run}), **more}):
                if whole != genuine[1]:
                    event = {"step": "SummariseTransfer", "run": run, "state": whole}
                    forger.send("SummariseTransfer", event, EARLY)

    forger.before(state, send=send)
    summary = forger.flow.run(RUN, {"source": BUCKET, "destination": MOUNT})
    assert len(forger.said) >= len(FORGED)
    assert summary["status"] == "SUCCEEDED"
    assert ledger().read_json("summary.json").get("error") is None


def test_a_probe_is_closed_by_its_own_last_state(forger: Forger) -> None:
    def send() -> None:
        run = {**sent("x")["run"], "id": "probed", "prefix": "runs/probed/"}
        forger.send("SummariseProbe", {"run": run, "state": {"run": run, "error": FORGED["error"]}}, EARLY)

    forger.before("RunExperiment", send=send)
    request = {"budget_bytes": 2**26, "budget_seconds": 20, "max_functions": 1}
    assert forger.flow.probe("probed", request)["status"] == "SUCCEEDED"
    assert len(forger.said) == 1
