"""A run that was stopped, resumed through the handlers: real adapters, a real ledger in S3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.s3.tree import S3Tree
from fanout.facts import tuning
from fanout.model.errors import InvalidRequest
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import started

SPLIT = {"shard_seconds": 0.1, "split_bytes": tuning.BLOCK_BYTES}


def read(s3: Any, key: str) -> Any:
    return json.loads(s3.get_object(Bucket="work-bucket", Key=key)["Body"].read())


def prepared(s3: Any, invoke: Invoke, request: dict[str, Any], run_id: str) -> tuple[Any, list[Any]]:
    """The run up to its shards."""
    state = invoke("PlanTransfer", {"request": request, **started(run_id)})
    invoke("CheckMount", {"run": state["run"]})
    for segment in read(s3, state["list"]["key"]):
        invoke("ListSegment", {"run": state["run"], "segment": segment})
    assert invoke("GatherSegments", state)["count"] == 0
    return state, read(s3, invoke("PartitionShards", {"run": state["run"]})["key"])


def copy(invoke: Invoke, state: Any, items: list[Any]) -> None:
    for item in items:
        invoke("CopyShard", {"run": state["run"], "shard": item["shard"], "cursor": 0})


def finished(invoke: Invoke, state: Any) -> Any:
    invoke("FinishTree", {"run": state["run"], "state": state})
    return invoke("SummariseTransfer", {"run": state["run"], "state": state})


@pytest.mark.parametrize("source", ["s3://data-bucket/resume/", "efs:///resume"])
def test_a_run_that_was_stopped_is_completed_without_a_listing(
    s3: Any, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    contents = {f"d{number % 3}/f{number}": b"x" * number for number in range(30)}
    contents["big"] = b"b" * (2 * tuning.BLOCK_BYTES + 5)
    to_mount = source.startswith("s3:")
    for path, data in contents.items():
        if to_mount:
            s3.put_object(Bucket="data-bucket", Key=f"resume/{path}", Body=data)
        else:
            (tmp_path / "resume" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "resume" / path).write_bytes(data)
    destination = "efs:///copy" if to_mount else "s3://data-bucket/copy/"
    run_1, run_2 = (f"{'to' if to_mount else 'from'}-mount-{number}" for number in (1, 2))
    state, items = prepared(s3, invoke, {"source": source, "destination": destination, "limits": SPLIT}, run_1)
    parts = [item for item in items if "blocks" in item["shard"]]
    assert len(parts) > 1
    copy(invoke, state, parts[:1])  # and then it is stopped, with a part of the big file staged

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a tree is listed")

    with monkeypatch.context() as patch:
        if to_mount:  # else a look tells which objects of directories are there
            patch.setattr(S3Tree, "list", refused)
        patch.setattr("fanout.adapters.posix.tree.PosixTree.list", refused)
        state, items = prepared(s3, invoke, {"resume_from": run_1}, run_2)
    copy(invoke, state, items)
    assert finished(invoke, state)["status"] == "SUCCEEDED"
    if to_mount:
        root = tmp_path / "copy"
        found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        assert not list(root.glob(".fanout*"))
    else:
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket="data-bucket", Prefix="copy/")["Contents"]]
        found = {
            key.removeprefix("copy/"): s3.get_object(Bucket="data-bucket", Key=key)["Body"].read()
            for key in keys
            if not key.endswith("/")
        }
        assert "Uploads" not in s3.list_multipart_uploads(Bucket="data-bucket")
    assert found == contents


@pytest.mark.parametrize("ends", ["to a mount", "to a bucket", "inside S3"])
@pytest.mark.parametrize("runs", [1, 2])
def test_what_is_gone_at_the_destination_since_is_copied_again(
    s3: Any, invoke: Invoke, tmp_path: Path, ends: str, runs: int
) -> None:
    where = f"{ends.replace(' ', '-')}-{runs}"
    contents = {f"d{number % 3}/f{number}": b"x" * number for number in range(30)}
    source, destination = f"s3://data-bucket/{where}/in/", f"s3://data-bucket/{where}/out/"
    root = tmp_path / "out"
    if ends == "to a mount":
        destination = "efs:///out"
    for path, data in contents.items():
        if ends == "to a bucket":
            source = "efs:///in"
            (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / path).write_bytes(data)
        else:
            s3.put_object(Bucket="data-bucket", Key=f"{where}/in/{path}", Body=data)

    def run(request: dict[str, Any], run_id: str) -> Any:
        state, items = prepared(s3, invoke, request, run_id)
        copy(invoke, state, items)
        finished(invoke, state)
        return read(s3, f"runs/{run_id}/summary.json")

    def change(path: str, data: bytes | None) -> None:
        if ends == "to a mount":
            (root / path).unlink() if data is None else (root / path).write_bytes(data)
        elif data is None:
            s3.delete_object(Bucket="data-bucket", Key=f"{where}/out/{path}")
        else:
            s3.put_object(Bucket="data-bucket", Key=f"{where}/out/{path}", Body=data)

    def there(path: str) -> bytes:
        if ends == "to a mount":
            return (root / path).read_bytes()
        found: bytes = s3.get_object(Bucket="data-bucket", Key=f"{where}/out/{path}")["Body"].read()
        return found

    assert run({"source": source, "destination": destination}, f"{where}-a")["status"] == "SUCCEEDED"
    last = f"{where}-a"
    if runs == 2:
        found = run({"resume_from": last}, f"{where}-b")
        assert (found["status"], found["totals"]["copied"]["entries"]) == ("SUCCEEDED", 0)
        last = f"{where}-b"
    for path in ("d0/f0", "d1/f7", "d2/f29"):
        change(path, None)
    change("d1/f10", b"somebody else's")
    found = run({"resume_from": last}, f"{where}-c")
    assert (found["status"], found["totals"]["copied"]["entries"]) == ("SUCCEEDED", 4), found
    assert {path: there(path) for path in contents} == contents


def test_a_run_that_is_not_known_is_refused(s3: Any, invoke: Invoke) -> None:
    with pytest.raises(InvalidRequest, match="run-0 has no ledger here"):
        invoke("PlanTransfer", {"request": {"resume_from": "run-0"}, **started("run-9")})
