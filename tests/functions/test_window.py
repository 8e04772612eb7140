"""Handlers of a run whose window is closed: they answer at once, and touch neither end."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fanout.flow.steps import STEPS
from fanout.runtime import bootstrap, ends
from fanout.staging.unpack_shard import UNPACK
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import REQUEST, started
from tests.support.handler_flow import WORK, HandlerFlow

NOW = datetime.now(UTC)
# Opens in two hours, for one hour.
CLOSED = f"{NOW + timedelta(hours=2):%H:%M}-{NOW + timedelta(hours=3):%H:%M} UTC"
OPEN = f"{NOW - timedelta(hours=2):%H:%M}-{NOW + timedelta(hours=2):%H:%M} UTC"
SHARD = {"id": "s", "key": "shards/s", "entries": 1, "bytes": 1, "seconds": 1.0}
SEGMENT = {"id": "0001-000000"}
STATES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ListSegment": ({"segment": SEGMENT}, {"segment": "0001-000000"}),
    "ListDestination": ({"segment": SEGMENT}, {"count": 0}),
    "CopyShard": ({"shard": SHARD, "cursor": 7}, {"cursor": 7, "done": False}),
    "PackShard": ({"shard": SHARD, "cursor": 7}, {"cursor": 7, "done": False}),
    "UnpackShard": ({"shard": SHARD, "cursor": 7}, {"cursor": 7, "done": False, "next": UNPACK}),
    "FinishTree": ({"state": {"finish": {"round": 3}}}, {"done": False, "count": 0, "round": 3}),
    "FinishShard": ({"shard": {"id": "f"}}, {"done": False, "shard": {"id": "f"}}),
    "DeleteShard": ({"shard": SHARD}, {"done": False}),
    "LookAtSource": ({"shard": SHARD}, {"done": False}),
    "RemoveDirectories": ({"state": {}}, {"done": False}),
    "LookAtDirectories": ({}, {"done": False}),
    "VerifyShard": ({"shard": SHARD}, {"done": False}),
    "DigestShard": ({"shard": SHARD}, {"done": False}),
    "DigestDestination": ({"shard": SHARD}, {"cursor": 0, "done": False}),
    "PublishVersion": ({"state": {}}, {"done": False}),
    "PaceCopy": ({"shards": {}, "execution": "arn"}, {"done": False}),
}


def test_the_table_holds_every_step_that_works_on_an_end() -> None:
    assert set(STATES) | {"ListOneSegment"} == {name for name, step in STEPS.items() if step.hands_back}


def refused(*_args: object, **_named: object) -> NoReturn:
    raise AssertionError("an end is touched while the window is closed")


def run_of(window: str) -> dict[str, str]:
    return {"id": "run-1", "bucket": WORK, "prefix": "runs/run-1/", "apart": "", "window": window}


@pytest.fixture
def planned(invoke: Invoke, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run whose tasks begin: nothing is handed back of another. It has every step, at any time, with any part."""
    for check in ("check_course", "check_part", "check_finished"):
        monkeypatch.setattr(f"fanout.flow.own_run.{check}", lambda *_: None)
    s3.put_object(Bucket="data-bucket", Key="in/a", Body=b"a")
    invoke("PlanTransfer", {"request": REQUEST, **started("run-1")})


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize("state", STATES)
def test_a_task_that_begins_outside_hands_back_what_it_was_given(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    for module, name in ((ends, "make_tree"), (ends, "make_entry_copier"), (bootstrap, "make_map_runs")):
        monkeypatch.setattr(module, name, refused)
    event, expected = STATES[state]
    answer = invoke(state, {"run": run_of(CLOSED), **event})
    assert {name: answer[name] for name in expected} == expected
    opens = datetime.fromisoformat(answer["until"]).timestamp()
    assert 0 < opens - time.time() <= 2 * 3_600 + 2


@pytest.mark.usefixtures("planned")
def test_the_record_of_a_segment_that_was_handed_back_leaves_all_of_it(invoke: Invoke, s3: Any) -> None:
    invoke("ListSegment", {"run": run_of(CLOSED), "segment": SEGMENT})
    body = s3.get_object(Bucket=WORK, Key="runs/run-1/segments/done/0001-000000.json")["Body"].read()
    record = json.loads(body)
    assert [one["id"] for one in record["left"]] == ["0001-000000"]
    assert (record["listed"]["entries"], record["shards"]) == (0, [])


@pytest.mark.parametrize("apart", [False, True])
def test_a_run_in_its_window_is_as_one_without(
    invoke: Invoke, s3: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, apart: bool
) -> None:
    mounts = {name: tmp_path / name for name in ("data", "archive")}
    for mount in mounts.values():
        mount.mkdir()
    (mounts["data"] / "in").mkdir()
    (mounts["data"] / "in" / "f").write_bytes(b"data")
    flow = HandlerFlow(invoke, s3, monkeypatch, mounts, bootstrap)
    there = "archive" if apart else "data"
    request = {"source": "efs://data/in", "destination": f"efs://{there}/out", "limits": {"window": OPEN}}
    assert flow.plan("planned", request)["run"]["window"] == OPEN
    assert flow.run("run-1", request)["status"] == "SUCCEEDED"
    assert (mounts[there] / "out" / "f").read_bytes() == b"data"


def test_what_the_destination_was_not_asked_for_is_handed_back(
    invoke: Invoke, s3: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Between two mounts the window may open between ListDestination and ListSegment."""
    mounts = {name: tmp_path / name for name in ("data", "archive")}
    for mount in mounts.values():
        mount.mkdir()
    (mounts["data"] / "f").write_bytes(b"data")
    flow = HandlerFlow(invoke, s3, monkeypatch, mounts, bootstrap)
    request = {"source": "efs://data/", "destination": "efs://archive/out", "limits": {"window": OPEN}}
    state = flow.plan("run-1", request)
    (segment,) = json.loads(s3.get_object(Bucket=WORK, Key=state["list"]["key"])["Body"].read())
    shut = {**state["run"], "window": CLOSED}
    flow.step("ListDestination", {"run": shut, "segment": segment})
    flow.step("ListSegment", {"run": state["run"], "segment": segment})
    gathered = flow.step("GatherSegments", {"run": state["run"], "list": state["list"]})
    assert (gathered["count"], gathered["until"]) == (1, "")
    assert flow.step("GatherSegments", {"run": shut, "list": state["list"]})["until"]
