"""Options of a request through the deployed stack: real workers read them from the plan."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import Any

import pytest

from tests.e2e.conftest import Stack

pytestmark = pytest.mark.e2e
DAY = 86_400


@pytest.fixture(scope="module", autouse=True)
def restoring(local: Stack) -> str:
    """A run that waits for an archived object while the other tests go on."""
    s3 = local.stack.clients.s3
    s3.create_bucket(Bucket="archives")
    for prefix in ("in", "left"):
        s3.put_object(Bucket="archives", Key=f"{prefix}/cold", Body=b"cold", StorageClass="GLACIER")
        s3.put_object(Bucket="archives", Key=f"{prefix}/warm", Body=b"warm")
    request = {"source": "s3://archives/in/", "destination": "efs:///thawed", "archived": "restore"}
    return local.stack.start_execution({**request, "restore": {"tier": "expedited", "days": 1}}, "restored")


def run(local: Stack, run_id: str, request: dict[str, Any]) -> Any:
    """Run it to its success; returns the summary."""
    return ended(local, run_id, local.stack.wait(local.stack.start_execution(request, run_id)))


def ended(local: Stack, run_id: str, end: Any) -> Any:
    """The summary of a run that has succeeded."""
    key = f"runs/{run_id}/summary.json"
    found = local.stack.clients.s3.get_object(Bucket=local.stack.work_bucket, Key=key)
    summary = json.loads(found["Body"].read())
    assert end["status"] == "SUCCEEDED", (end, summary)
    return summary


def test_ages_choose_files_and_a_sync_deletes_only_what_has_the_age(local: Stack) -> None:
    now = time.time()
    for path, days in (("ages/in/old", 40), ("ages/in/new", 1), ("ages/out/gone", 50), ("ages/out/young", 2)):
        file = local.mount / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
        os.utime(file, (now - days * DAY, now - days * DAY))
    request = {
        "source": "efs:///ages/in",
        "destination": "efs:///ages/out",
        "mode": "sync",
        "older_than": "30d",
        "delete_guard": {"max_percent": 100},
    }
    (local.mount / "ages/out/old").write_text("another")
    os.utime(local.mount / "ages/out/old", (now - 60 * DAY, now - 60 * DAY))
    summary = run(local, "ages", request)
    assert summary["totals"]["deleted"]["entries"] == 1
    assert {path.name: path.read_text() for path in (local.mount / "ages/out").iterdir()} == {
        "old": "ages/in/old",
        "young": "ages/out/young",
    }


def test_objects_of_other_tools_get_the_given_attributes(local: Stack) -> None:
    s3 = local.stack.clients.s3
    s3.create_bucket(Bucket="other-tools")
    for key in ("in/f", "in/deep/er/f"):
        s3.put_object(Bucket="other-tools", Key=key, Body=key.encode())
    time.sleep(3)  # what is copied within a second of its object is copied again
    request = {
        "source": "s3://other-tools/in/",
        "destination": "efs:///given",
        "attributes": {"uid": os.geteuid(), "gid": os.getegid(), "file_mode": "0604", "directory_mode": "0705"},
        "verify": "all",
    }
    summary = run(local, "given-1", request)
    assert summary["totals"]["copied"]["entries"] == 2
    assert summary["verification"]["differences"] == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (local.mount / "given").rglob("*")}
    assert modes == {"f": 0o604, "deep": 0o705, "er": 0o705}
    assert run(local, "given-2", request)["totals"]["copied"]["entries"] == 0


def test_archived_objects_are_left_out_or_restored_waited_for_and_copied(local: Stack, restoring: str) -> None:
    request = {"source": "s3://archives/left/", "destination": "efs:///warm", "archived": "skip"}
    summary = run(local, "cold-skipped", request)
    assert (summary["totals"]["copied"]["entries"], summary["totals"]["skipped"]["entries"]) == (1, 1)
    assert [path.name for path in (local.mount / "warm").iterdir()] == ["warm"]
    summary = ended(local, "restored", local.stack.wait(restoring))
    assert summary["totals"]["copied"]["entries"] == 2
    assert summary["forecast"]["dollars"]["restores"] > 0
    assert {path.name: path.read_text() for path in (local.mount / "thawed").iterdir()} == {
        "cold": "cold",
        "warm": "warm",
    }
