"""What somebody reaches who may invoke the functions and start no execution: every state, by its handler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanout.flow.steps import MOUNTING, STEPS
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import OFFERED
from tests.support.handler_flow import HandlerFlow

REQUEST: Json = {"source": "s3://data-bucket/in/", "destination": "efs:///made/by/nobody"}
SHARD: Json = {"id": "0001", "key": "shards/0001.jsonl.gz", "entries": 1, "bytes": 1, "seconds": 1.0}
SHORT: Json = {"round": 1, "key": "runs/x/segments/round-0001.json", "count": 1, "max_concurrency": 1}
LAST = ("SummariseTransfer", "SummariseProbe")
# What the last task of a run writes each time: the same rows, and when it was.
AGAIN = ("index.json", "phases/summarise.json")
# Those that begin something: PlanTransfer asks for its execution, StartBatch starts one with the stack's own request.
WITHIN = [name for name, step in STEPS.items() if step.run_id is None]


def event_of(run_id: str, state: str) -> Json:
    """What the state machine would send, as far as whoever has read it can guess."""
    run: Json = {"id": run_id, "bucket": "work-bucket", "prefix": f"runs/{run_id}/", "apart": "", "digests": ""}
    run["functions"] = MOUNTING
    more = {"segment": {"id": "s1"}, "shard": SHARD, "cursor": 0, "list": {**SHORT, "segment": {"id": "s1"}}}
    shards = {"key": f"runs/{run_id}/shards.json", "restores": "", "step": "", "copies": "", "count": 1, "extras": 1}
    about = {"entered": "2126-11-28T15:00:00Z", "execution": f"arn:aws:states:::execution:transfer:{run_id}"}
    error = {"Error": "Broken", "Cause": "{}"}
    whole = {"run": run, "shards": shards, "error": error, **more, **about, "round": 1, "member": 0}
    return {"step": state, **whole, "state": {"run": run, "shards": shards}}


def seen(s3: Any, mount: Path) -> dict[str, Any]:
    """All that lies in the work bucket, in the data and on the mount."""
    found: dict[str, Any] = {str(one): one.stat().st_mtime_ns for one in mount.rglob("*")}
    for bucket in ("work-bucket", "data-bucket"):
        for row in s3.list_objects_v2(Bucket=bucket).get("Contents", ()):
            found[f"{bucket}/{row['Key']}"] = row["ETag"]
    return found


@pytest.mark.parametrize("state", WITHIN)
def test_an_event_of_a_run_that_was_never_planned_writes_nothing(
    s3: Any, invoke: Invoke, tmp_path: Path, state: str
) -> None:
    s3.put_object(Bucket="data-bucket", Key="in/a", Body=b"a")
    before = seen(s3, tmp_path)
    if STEPS[state].walks:  # hands on where it could not go on
        assert invoke(STEPS[state].function, event_of("nobody", state))["short"]["at"] == "CheckMount"
    else:
        with pytest.raises((FanoutError, KeyError)):
            invoke(state, event_of("nobody", state))
    after = seen(s3, tmp_path)
    begun = {"work-bucket/runs/nobody/phases/summarise.json"} if state in LAST else set()
    assert {key for key in after if after[key] != before.get(key)} <= begun


def test_planning_without_an_execution_writes_nothing(s3: Any, call: Invoke, tmp_path: Path) -> None:
    s3.put_object(Bucket="data-bucket", Key="in/a", Body=b"a")
    before = seen(s3, tmp_path)
    execution = "arn:aws:states:us-east-1:123456789012:execution:fanout-transfer:nobody"
    with pytest.raises(FanoutError, match="is not there, or does not show yet"):
        call("PlanTransfer", {"request": REQUEST, "run_id": "nobody", "execution": execution, "functions": OFFERED})
    assert seen(s3, tmp_path) == before


@pytest.mark.parametrize("state", [one for one in WITHIN if not STEPS[one].use_case.startswith("probe.")])
def test_an_event_of_a_run_that_has_ended_changes_nothing(
    s3: Any, invoke: Invoke, flow: HandlerFlow, tmp_path: Path, state: str
) -> None:
    for number in range(3):
        s3.put_object(Bucket="data-bucket", Key=f"in/{number}", Body=b"x")
    request = {"source": "s3://data-bucket/in/", "destination": "efs://data/out", "mode": "sync"}
    assert flow.run("ended", request)["status"] == "SUCCEEDED"
    before = seen(s3, tmp_path)
    (shard,) = json.loads(s3.get_object(Bucket="work-bucket", Key="runs/ended/shards.json")["Body"].read())
    event = event_of("ended", state) | {"shard": shard["shard"]}
    if state in LAST:  # the last task may be tried again
        invoke(state, event)
    elif STEPS[state].walks:
        assert "has ended" in invoke(STEPS[state].function, event)["short"]["why"]
    else:
        with pytest.raises((FanoutError, AssertionError)):
            invoke(state, event)
    after = seen(s3, tmp_path)
    again = {f"work-bucket/runs/ended/{key}" for key in AGAIN} if state in LAST else set()
    changed = {key for key in {*after, *before} if after.get(key) != before.get(key)}
    assert changed <= again


@pytest.fixture
def flow(invoke: Invoke, s3: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> HandlerFlow:
    """A state machine over two mounts."""
    from fanout.runtime import bootstrap

    for name in ("data", "archive"):
        (tmp_path / name).mkdir()
    return HandlerFlow(invoke, s3, monkeypatch, {"data": tmp_path / "data", "archive": tmp_path / "archive"}, bootstrap)
