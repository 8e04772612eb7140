"""Options between two mounts through the deployed stack: each function sees its side alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain
from tests.support.trees import described

pytestmark = pytest.mark.e2e
ENDS = {"source": "efs://data/in", "destination": "efs://archive/out"}
LONG_AGO = 1_600_000_000


@pytest.fixture(scope="module")
def stack(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    base = tmp_path_factory.mktemp("mounts")
    mounts = {name: base / name for name in ("data", "archive")}
    for directory in mounts.values():
        directory.mkdir()
    paths = LocalPaths.find(state=state)
    with LocalStack(paths, find_toolchain(paths.repo), mounts) as up:
        yield up, mounts


def run(up: LocalStack, run_id: str, request: dict[str, Any]) -> Any:
    ended = up.wait(up.start_execution(request, run_id))
    key = f"runs/{run_id}/summary.json"
    summary = json.loads(up.clients.s3.get_object(Bucket=up.work_bucket, Key=key)["Body"].read())
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    return summary


def test_a_manifest_and_then_a_sync_make_the_trees_equal(stack: Any) -> None:
    up, mounts = stack
    source, there = mounts["data"] / "in", mounts["archive"] / "out"
    for number in range(6):
        path = source / f"d{number % 2}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * number)
    (there / "gone" / "deep").mkdir(parents=True)
    (there / "gone" / "deep" / "f").write_bytes(b"gone")
    up.clients.s3.put_object(Bucket=up.work_bucket, Key="runs/lists/some.jsonl", Body=b'"d0/f0"\n"d1/f3"\n')
    named = run(up, "mounts-named", {**ENDS, "manifest": f"s3://{up.work_bucket}/runs/lists/some.jsonl"})
    assert named["totals"]["copied"]["entries"] == 2
    assert sorted(path.name for path in there.rglob("f*") if path.is_file()) == ["f", "f0", "f3"]
    run(up, "mounts-synced", {**ENDS, "mode": "sync", "delete_guard": {"max_percent": 90}})
    assert described(there) == described(source)


def test_checksums_names_and_extras_are_compared_though_no_function_sees_both(stack: Any) -> None:
    up, mounts = stack
    source, there = mounts["data"] / "sums", mounts["archive"] / "sums"
    for root, differing in ((source, b"ours"), (there, b"them")):
        root.mkdir()
        for name, body in (("same", b"same"), ("differs", differing)):
            (root / name).write_bytes(body)
            os.utime(root / name, (LONG_AGO + len(str(root)), LONG_AGO + len(str(root))))
    (there / "extra").write_bytes(b"extra")
    ends = {"source": "efs://data/sums", "destination": "efs://archive/sums"}
    found = run(up, "mounts-sums", {**ends, "compare": "checksum", "on_conflict": "skip"})
    assert {name: count["entries"] for name, count in found["totals"].items() if count["entries"]} == {
        "listed": 2,
        "copied": 1,
        "unchanged": 1,
    }
    assert (there / "differs").read_bytes() == b"ours"
    ended = up.wait(up.start_execution({**ends, "mode": "verify"}, "mounts-compared"))
    key = "runs/mounts-compared/failures.jsonl"
    body = up.clients.s3.get_object(Bucket=up.work_bucket, Key=key)["Body"].read()
    paths = {row["path"]: row["reason"] for row in map(json.loads, body.splitlines())}
    assert ended["status"] == "FAILED" and "extra" in paths, paths
