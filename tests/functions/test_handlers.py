"""Each handler parses its event, calls its use case, and renders what the state machine passes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.s3.tree import S3Tree
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.flow.steps import MOUNTING
from fanout.model.errors import InvalidRequest
from tests.functions.conftest import FUNCTIONS, Invoke

SECRET_NAME = "customer-path"
REQUEST = {"source": "s3://data-bucket/in/", "destination": "efs:///out"}
OFFERED = [{name: f"{prefix}{name}" for name in MOUNTING.values()} for prefix in ("", "Second")]


def started(run_id: str) -> dict[str, Any]:
    """What the state machine adds to the request of a run."""
    execution = f"arn:aws:states:us-east-1:123456789012:execution:transfer:{run_id}"
    return {"run_id": run_id, "execution": execution, "functions": OFFERED}


def open_files() -> list[str]:
    targets = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists the directory
            targets.append(os.readlink(descriptor))
    return targets


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_the_handlers_in_the_order_of_the_state_machine(
    s3: Any, invoke: Invoke, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    get = S3WorkStore.get
    monkeypatch.setattr(S3WorkStore, "get", lambda store, key: read.append(key) or get(store, key))  # type: ignore[func-returns-value]
    for number in range(5):
        s3.put_object(Bucket="data-bucket", Key=f"in/{SECRET_NAME}/{number}", Body=b"x" * number)
    state = invoke("PlanTransfer", {"request": REQUEST, **started("run-1")})
    run = {"id": "run-1", "bucket": "work-bucket", "prefix": "runs/run-1/", "apart": "", "digests": ""}
    assert state["run"] == run | {"short": True, "functions": MOUNTING}
    invoke("CheckMount", {"run": state["run"]})
    [segment] = json.loads(s3.get_object(Bucket="work-bucket", Key=state["list"]["key"])["Body"].read())
    invoke("ListSegment", {"run": state["run"], "segment": segment})
    assert invoke("GatherSegments", state)["count"] == 0
    shards = invoke("PartitionShards", {"run": state["run"]})
    [item] = json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read())
    copied = invoke("CopyShard", {"run": state["run"], "shard": item["shard"], "cursor": 0})
    assert (copied["done"], copied["cursor"], copied["shard"]) == (True, 5, item["shard"])
    assert invoke("FinishTree", {"run": state["run"], "state": state})["done"]
    read.clear()
    summary = invoke("SummariseTransfer", {"run": state["run"], "state": {**state, "shards": shards}})
    assert summary == {"status": "SUCCEEDED", "error": "", "cause": ""}
    assert "runs/run-1/summary.json" not in read, "its metrics are those of the summary that it has in hand"
    assert len(list((tmp_path / "out" / SECRET_NAME).iterdir())) == 5
    output = capsys.readouterr().out
    assert SECRET_NAME not in output
    events = lines(output)
    assert {line["run_id"] for line in events if line.get("message") == "task_began"} == {"run-1"}
    # The server of this test has threads here, so that no function could begin a crew.
    alone = {line["state"] for line in events if line.get("message") == "one_process"}
    assert alone == {"ListSegment", "CopyShard"}
    metrics = [line for line in events if "_aws" in line]
    states = {line["state"] for line in metrics if "state" in line}
    assert states >= {"PlanTransfer", "ListSegment", "CopyShard", "SummariseTransfer"}
    [run_ended] = [line for line in metrics if "RunsSucceeded" in line]
    assert (run_ended["run_id"], run_ended["service"]) == ("run-1", "fanout")
    assert [run_ended[name] for name in ("EntriesCopied", "BytesCopied", "Failures")] == [[5.0], [10.0], [0.0]]
    [described] = run_ended["_aws"]["CloudWatchMetrics"]
    assert described["Dimensions"] == [["service"]]
    assert {"Name": "BytesCopied", "Unit": "Bytes"} in described["Metrics"]
    assert {"Name": "CopySeconds", "Unit": "Seconds"} in described["Metrics"]
    assert all(line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "FanOutTransfer" for line in metrics)


def test_the_handlers_of_a_sync_delete_what_the_source_lacks(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    for path in ("in/keep", "out/keep", "out/gone/deep/file"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    request = {
        "source": "efs:///in",
        "destination": "efs:///out",
        "mode": "sync",
        "delete_guard": {"max_percent": 80.0},
    }
    state = invoke("PlanTransfer", {"request": request, **started("run-sync")})
    run = {"run": state["run"]}
    invoke("CheckMount", run)
    [segment] = json.loads(s3.get_object(Bucket="work-bucket", Key=state["list"]["key"])["Body"].read())
    invoke("ListSegment", {**run, "segment": segment})
    invoke("GatherSegments", state)
    shards = invoke("PartitionShards", run)
    assert (shards["next"], shards["extras"]) == ("copy", 3)
    for item in json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read()):
        invoke("CopyShard", {**run, "shard": item["shard"], "cursor": 0})
    invoke("FinishTree", {**run, "state": {**state, "shards": shards}})
    deletion = invoke("BeginDeletion", run)
    assert deletion["count"] == 1
    [item] = json.loads(s3.get_object(Bucket="work-bucket", Key=deletion["key"])["Body"].read())
    deleted = invoke("DeleteShard", {**run, "shard": item["shard"]})
    assert (deleted["done"], deleted["shard"], deleted["run"]) == (True, item["shard"], state["run"])
    assert invoke("RemoveDirectories", {**run, "state": state})["done"]
    assert (
        invoke("SummariseTransfer", {"run": state["run"], "state": {**state, "shards": shards}})["status"]
        == "SUCCEEDED"
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["keep"]


def test_a_sync_to_a_bucket_deletes_its_extra_objects(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(20):
        (tmp_path / f"in/{number}").write_text("x")
    for key in ("to/old", "to/d/", "to/d/old", "other/stays", *(f"to/{number}" for number in range(20))):
        s3.put_object(Bucket="data-bucket", Key=key, Body=b"y")
    request: dict[str, Any] = {"source": "efs:///in", "destination": "s3://data-bucket/to/", "mode": "sync"}
    request["delete_guard"] = {"max_count": 3, "max_percent": 20.0}
    state = invoke("PlanTransfer", {"request": request, **started("run-sync-s3")})
    run = {"run": state["run"]}
    invoke("CheckMount", run)
    [segment] = json.loads(s3.get_object(Bucket="work-bucket", Key=state["list"]["key"])["Body"].read())
    invoke("ListSegment", {**run, "segment": segment})
    invoke("GatherSegments", state)
    shards = invoke("PartitionShards", run)
    for item in json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read()):
        invoke("CopyShard", {**run, "shard": item["shard"], "cursor": 0})
    invoke("FinishTree", {**run, "state": {**state, "shards": shards}})
    [item] = json.loads(s3.get_object(Bucket="work-bucket", Key=invoke("BeginDeletion", run)["key"])["Body"].read())
    assert invoke("DeleteShard", {**run, "shard": item["shard"]})["done"]
    assert invoke("RemoveDirectories", {**run, "state": state})["done"]
    assert (
        invoke("SummariseTransfer", {"run": state["run"], "state": {**state, "shards": shards}})["status"]
        == "SUCCEEDED"
    )
    keys = {one["Key"] for one in s3.list_objects_v2(Bucket="data-bucket")["Contents"]}
    assert {key for key in keys if key.startswith("to/")} == {f"to/{number}" for number in range(20)}
    assert "other/stays" in keys


def run_through(invoke: Invoke, s3: Any, request: dict[str, str], run_id: str) -> Any:
    """Every handler once; returns what the last one says."""
    state = invoke("PlanTransfer", {"request": request, **started(run_id)})
    invoke("CheckMount", {"run": state["run"]})
    [segment] = json.loads(s3.get_object(Bucket="work-bucket", Key=state["list"]["key"])["Body"].read())
    invoke("ListSegment", {"run": state["run"], "segment": segment})
    invoke("GatherSegments", state)
    shards = invoke("PartitionShards", {"run": state["run"]})
    for item in json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read()):
        invoke("CopyShard", {"run": state["run"], "shard": item["shard"], "cursor": 0})
    invoke("FinishTree", {"run": state["run"], "state": state})
    return invoke("SummariseTransfer", {"run": state["run"], "state": {**state, "shards": shards}})


def test_a_transfer_inside_s3_is_copied_by_s3_with_the_options_of_the_request(
    s3: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("the bytes pass through the function")

    monkeypatch.setattr(S3Tree, "open", refused)
    monkeypatch.setattr(S3Tree, "create", refused)
    s3.put_object(Bucket="data-bucket", Key="from/a//b", Body=b"x", ContentType="text/x", Tagging="team=a")
    key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    request = {
        "source": "s3://data-bucket/from/",
        "destination": "s3://data-bucket/to/",
        "storage_class": "STANDARD_IA",
        "kms_key_id": key,
    }
    assert run_through(invoke, s3, request, "run-3")["status"] == "SUCCEEDED"
    found = s3.head_object(Bucket="data-bucket", Key="to/a//b")
    assert (found["ContentType"], found["StorageClass"], found["SSEKMSKeyId"]) == ("text/x", "STANDARD_IA", key)
    assert s3.get_object_tagging(Bucket="data-bucket", Key="to/a//b")["TagSet"] == [{"Key": "team", "Value": "a"}]


@pytest.mark.parametrize(("content_type", "found"), [("guess", "text/html"), ("none", "binary/octet-stream")])
def test_a_file_gets_the_content_type_of_its_name(
    s3: Any, invoke: Invoke, tmp_path: Path, content_type: str, found: str
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/a.html").write_text("x")
    request = {
        "source": "efs:///site",
        "destination": f"s3://data-bucket/{content_type}/",
        "content_type": content_type,
    }
    request["storage_class"] = "GLACIER_IR"
    assert run_through(invoke, s3, request, "run-4")["status"] == "SUCCEEDED"
    head = s3.head_object(Bucket="data-bucket", Key=f"{content_type}/a.html")
    assert (head["ContentType"], head["StorageClass"]) == (found, "GLACIER_IR")


def test_a_warm_function_holds_nothing_open_after_a_task(s3: Any, invoke: Invoke, tmp_path: Path) -> None:
    for number in range(20):
        s3.put_object(Bucket="data-bucket", Key=f"in/d{number}/f", Body=b"x")
    state = invoke("PlanTransfer", {"request": REQUEST, **started("run-3")})
    [segment] = json.loads(s3.get_object(Bucket="work-bucket", Key=state["list"]["key"])["Body"].read())
    invoke("ListSegment", {"run": state["run"], "segment": segment})
    invoke("GatherSegments", state)
    shards = invoke("PartitionShards", {"run": state["run"]})
    [item] = json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read())
    event = {"run": state["run"], "shard": item["shard"], "cursor": 0}
    invoke("CheckMount", {"run": state["run"]})
    invoke("CopyShard", event)
    assert not [target for target in open_files() if target.startswith(f"{tmp_path}/")]


def test_a_failed_shard_is_recorded(s3: Any, invoke: Invoke) -> None:
    s3.put_object(Bucket="data-bucket", Key="in/a", Body=b"a")
    state = invoke("PlanTransfer", {"request": REQUEST, **started("run-2")})
    [segment] = json.loads(s3.get_object(Bucket="work-bucket", Key=state["list"]["key"])["Body"].read())
    invoke("ListSegment", {"run": state["run"], "segment": segment})
    invoke("GatherSegments", state)
    shards = invoke("PartitionShards", {"run": state["run"]})
    [item] = json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read())
    error = {"Error": "Transient", "Cause": '{"errorMessage": "no answer"}'}
    event = {"run": state["run"], "shard": item["shard"], "cursor": 0, "error": error}
    assert invoke("RecordShardFailure", event)["failed"] == item["shard"]["entries"]
    assert invoke("SummariseTransfer", {"run": state["run"], "state": state})["status"] == "FAILED_WITH_ITEMS"


def test_an_event_that_no_state_sends_is_refused_by_name(invoke: Invoke) -> None:
    with pytest.raises(InvalidRequest, match=r"run\.id: is missing in the event"):
        invoke("FinishTree", {"run": {}, "state": {}})


@pytest.mark.parametrize("folder", sorted(path.name for path in FUNCTIONS.iterdir() if path.is_dir()))
def test_importing_a_handler_only_defines(folder: str) -> None:
    """No environment is needed, and boto3 is not imported."""
    program = (
        f"import sys; sys.path.insert(0, {str(FUNCTIONS / folder)!r}); import app; "
        "assert 'boto3' not in sys.modules; assert callable(app.handler)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 0, done.stderr


def test_a_manifest_in_the_data_and_what_a_run_left_in_the_ledger_are_copied(
    s3: Any, invoke: Invoke, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        s3.put_object(Bucket="data-bucket", Key=f"in/{name}", Body=name.encode())
    s3.put_object(Bucket="data-bucket", Key="lists/todo.csv", Body=b"a\ngone\n")
    request = {**REQUEST, "manifest": "s3://data-bucket/lists/todo.csv"}
    assert run_through(invoke, s3, request, "run-1")["status"] == "FAILED_WITH_ITEMS"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
    s3.put_object(Bucket="data-bucket", Key="in/gone", Body=b"found")
    retry = {**REQUEST, "manifest": "s3://work-bucket/runs/run-1/failures.jsonl"}
    assert run_through(invoke, s3, retry, "run-2")["status"] == "SUCCEEDED"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "gone"]
