"""A manifest, a sync, bytes compared and a verification between two mounts of the deployed stack, each apart."""

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
    up.clients.s3.create_bucket(Bucket="mount-lists")
    up.clients.s3.put_object(Bucket="mount-lists", Key="some.jsonl", Body=b'"d0/f0"\n"d1/f3"\n')
    named = run(up, "mounts-named", {**ENDS, "manifest": "s3://mount-lists/some.jsonl"})
    assert named["totals"]["copied"]["entries"] == 2
    assert sorted(path.name for path in there.rglob("f*") if path.is_file()) == ["f", "f0", "f3"]
    run(up, "mounts-synced", {**ENDS, "mode": "sync", "delete_guard": {"max_percent": 90}})
    assert described(there) == described(source)

    changed, seen = there / "d1/f5", (there / "d1/f5").stat()
    changed.write_bytes(b"other")
    os.utime(changed, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    compared = run(up, "mounts-compared", {**ENDS, "compare": "checksum"})
    assert compared["totals"]["copied"]["bytes"] == 5, "beside directories"
    assert changed.read_bytes() == bytes([5]) * 5
    (there / "extra").write_bytes(b"extra")
    ended = up.wait(up.start_execution({**ENDS, "mode": "verify"}, "mounts-verified"))
    assert ended["status"] == "FAILED"
    key = "runs/mounts-verified/failures.jsonl"
    rows = up.clients.s3.get_object(Bucket=up.work_bucket, Key=key)["Body"].read().splitlines()
    assert [json.loads(row)["path"] for row in rows] == ["extra"]
