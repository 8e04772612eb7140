"""The handler of PaceCopy and EndPacing, and limits that the handlers keep to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.aws.step_functions import StepFunctionsMaps
from fanout.model.errors import InvalidRequest
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import REQUEST, started


def paced(s3: Any, invoke: Invoke) -> dict[str, Any]:
    """The event of PaceCopy for a run with some shards."""
    for number in range(60):
        s3.put_object(Bucket="data-bucket", Key=f"in/{number}", Body=b"x" * number)
    request = {**REQUEST, "limits": {"shard_seconds": 0.1, "files_per_second": 100_000}}
    state = invoke("PlanTransfer", {"request": request, **started("run-1")})
    run = state["run"]
    invoke("CheckMount", {"run": run})
    invoke("ListSegment", {"run": run, "segment": state["list"]["segment"]})
    invoke("GatherSegments", {"run": run, "list": state["list"]})
    shards = invoke("PartitionShards", {"run": run})
    return {"run": run, "shards": shards, "execution": started("run-1")["execution"]}


def test_the_end_is_noted_and_ends_the_pacing(s3: Any, invoke: Invoke) -> None:
    event = paced(s3, invoke)
    invoke("EndPacing", event)
    expected = {"run": event["run"], "shards": event["shards"], "done": True, "until": ""}
    assert invoke("PaceCopy", event) == expected


def test_the_map_of_another_execution_is_neither_asked_for_nor_moved(
    s3: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hand-made event: the run's own ledger, and the execution of somebody else."""
    asked: list[str] = []
    monkeypatch.setattr(StepFunctionsMaps, "find", lambda _, execution, label: asked.append(execution))
    event = paced(s3, invoke)
    other = event["execution"].replace("run-1", "run-2")
    with pytest.raises(InvalidRequest, match=r"run-2 is not the execution of the run run-1"):
        invoke("PaceCopy", {**event, "execution": other})
    assert asked == []


def test_functions_note_when_they_work_where_there_is_a_limit(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    event = paced(s3, invoke)
    rows = s3.get_object(Bucket="work-bucket", Key=event["shards"]["key"])["Body"].read()
    for row in json.loads(rows):
        copied = invoke("CopyShard", {"run": event["run"], "shard": row["shard"], "cursor": 0})
        assert copied["done"]
    copies = [path for path in (tmp_path / "out").iterdir() if path.is_file()]  # beside the directory of staged files
    assert len(copies) == 60
    listed = s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/run-1/workers/CopyShard/")["Contents"]
    assert len(listed) >= 2 * len(json.loads(rows))  # a begin and an end for each, and more where it takes long


def test_an_event_of_another_form_is_refused(s3: Any, invoke: Invoke) -> None:
    event = paced(s3, invoke)
    del event["execution"]
    with pytest.raises(InvalidRequest, match="execution: is missing in the event"):
        invoke("PaceCopy", event)
