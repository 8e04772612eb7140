"""`overwrite` and `backup_to` through the deployed stack: what is left, what is kept, and how it comes back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Stack

pytestmark = pytest.mark.e2e
LONG_AGO, LATER = 1_600_000_000, 1_700_000_000


def put(path: Path, text: str, seconds: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def run(local: Stack, run_id: str, request: dict[str, Any]) -> Any:
    stack = local.stack
    ended = stack.wait(stack.start_execution(request, run_id))
    body = stack.clients.s3.get_object(Bucket=stack.work_bucket, Key=f"runs/{run_id}/summary.json")["Body"].read()
    summary = json.loads(body)
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    assert summary["balanced"]
    return {name: count["entries"] for name, count in summary["totals"].items() if count["entries"]}


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_what_is_left_between_directories_and_in_a_bucket(local: Stack) -> None:
    here, there = local.mount / "in", local.mount / "left"
    for name in ("new", "older", "newer"):
        put(here / name, f"ours {name}", LATER)
    put(there / "older", "theirs", LONG_AGO)
    put(there / "newer", "theirs", LATER + 1)
    request = {"source": "efs:///in", "destination": "efs:///left"}
    assert run(local, "never", {**request, "overwrite": "never"}) == {"listed": 3, "copied": 1, "skipped": 2}
    assert contents(there) == {"new": "ours new", "older": "theirs", "newer": "theirs"}
    newer = run(local, "if-newer", {**request, "overwrite": "if-newer"})
    assert (newer["listed"], newer["copied"]) == (3, 1)
    assert contents(there) == {"new": "ours new", "older": "ours older", "newer": "theirs"}

    s3 = local.stack.clients.s3
    s3.create_bucket(Bucket="overwritten")
    s3.put_object(Bucket="overwritten", Key="tree/older", Body=b"theirs, and written now")
    up = {"source": "efs:///in", "destination": "s3://overwritten/tree/", "overwrite": "if-newer"}
    assert run(local, "up", up) == {"listed": 3, "copied": 2, "skipped": 1}
    assert s3.get_object(Bucket="overwritten", Key="tree/older")["Body"].read() == b"theirs, and written now"


def test_a_sync_keeps_what_goes_and_a_transfer_brings_it_back(local: Stack) -> None:
    put(local.mount / "source/changed", "ours", LATER)
    put(local.mount / "mirror/changed", "theirs", LONG_AGO)
    put(local.mount / "mirror/gone/extra", "extra", LONG_AGO)
    before = contents(local.mount / "mirror")
    request = {
        "source": "efs:///source",
        "destination": "efs:///mirror",
        "mode": "sync",
        "backup_to": "efs:///backups/mirror",
        "delete_guard": {"max_percent": 100},
    }
    assert run(local, "kept-1", request) == {"listed": 1, "copied": 1, "deleted": 2}
    assert contents(local.mount / "mirror") == {"changed": "ours"}
    assert contents(local.mount / "backups/mirror/kept-1") == before
    back = {"source": "efs:///backups/mirror/kept-1", "destination": "efs:///mirror", "compare": "always"}
    assert run(local, "gone-back", back)["copied"] == 3
    assert contents(local.mount / "mirror") == before


def test_a_backup_of_a_bucket_is_refused_with_its_remedy(local: Stack) -> None:
    stack = local.stack
    request = {"source": "efs:///source", "destination": "s3://overwritten/x/", "backup_to": "efs:///backups"}
    ended = stack.wait(stack.start_execution(request, "refused"))
    assert ended["status"] == "FAILED"
    assert "backup_to" in ended["cause"] and "versioning" in ended["cause"]


def test_a_tree_is_published_changed_published_again_and_gone_back_to(local: Stack) -> None:
    stack = local.stack
    s3 = stack.clients.s3
    s3.create_bucket(Bucket="pages")
    for name, text in (("index", "one"), ("d/same", "same")):
        s3.put_object(Bucket="pages", Key=f"site/{name}", Body=text.encode())
    request = {"source": "s3://pages/site/", "destination": "efs:///site", "publish": {"link": "current"}}
    current = local.mount / "site/current"
    assert run(local, "published-1", {**request, "verify": "all"}) == {"listed": 2, "copied": 2}
    s3.put_object(Bucket="pages", Key="site/index", Body=b"two")
    assert run(local, "published-2", request) == {"listed": 2, "copied": 1, "unchanged": 1}
    assert os.readlink(current) == "versions/published-2"
    assert contents(current.resolve()) == {"index": "two", "d/same": "same"}
    assert (local.mount / "site/versions/published-1/d/same").samefile(current / "d/same")
    back = {**request, "mode": "rollback", "source": "efs:///site/versions/published-1"}
    assert run(local, "published-back", back) == {}
    assert contents(current.resolve()) == {"index": "one", "d/same": "same"}
    versions = sorted(name for name in os.listdir(local.mount / "site/versions") if name[0] != ".")
    assert versions == ["published-1", "published-2"]
