"""No process is forked from one that has had a thread, in whole runs, cold and warm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.runs.audited_functions import FORK, THREAD

ROOT = Path(__file__).parents[2]
FILES = 260
# Of that of the tests before, nothing else.
_ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "LANG", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """The URL of a server of S3."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def carried_out(s3_url: str, mount: Path, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Carry out runs in one process; returns who forked, and who began a thread, in their order."""
    client = boto3.client("s3", endpoint_url=s3_url, region_name="us-east-1")
    for bucket in ("forks-work", "forks-data"):
        client.create_bucket(Bucket=bucket)
    notes = mount / "notes"
    environment = {
        "AWS_ENDPOINT_URL": s3_url,
        "FANOUT_WORK_BUCKET": "forks-work",
        "FANOUT_MOUNTS": json.dumps({"data": str(mount)}),
        "POWERTOOLS_SERVICE_NAME": "fanout",
        "POWERTOOLS_METRICS_NAMESPACE": "FanOutTransfer",
    }
    runs = [one for number, request in enumerate(requests) for one in (f"run-{number}", json.dumps(request))]
    subprocess.run(
        [sys.executable, "-m", "tests.runs.audited_functions", str(notes), *runs],
        cwd=ROOT,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} | environment,
        check=True,
        capture_output=True,
    )
    return [json.loads(line) for line in notes.read_text().splitlines()]


def test_whole_runs_fork_from_a_process_without_threads(
    s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for number in range(FILES):
        path = tmp_path / f"in/d{number % 9}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {number}")
    found = carried_out(
        s3_url,
        tmp_path,
        {"source": "efs:///in", "destination": "efs:///out"},
        {"source": "efs:///in", "destination": "efs:///again"},
        {"source": "efs:///in", "destination": "s3://forks-data/tree/"},
        {"source": "s3://forks-data/tree/", "destination": "efs:///back"},
        {"source": "efs:///in", "destination": "efs:///out", "mode": "sync"},
    )
    assert len(list((tmp_path / "back").rglob("f*"))) == FILES
    threaded: set[int] = set()
    forks = []
    for row in found:
        if row["what"] == THREAD:
            threaded.add(row["by"])
        else:
            assert row["what"] == FORK
            assert (row["threads"], row["by"] in threaded) == (1, False), found
            forks.append(row["by"])
    function, *others = forks
    assert function in threaded  # later
    # One process forks all others: some for each copy, one for each listing of a mount beside another.
    assert len(set(others)) == 1 and len(others) >= 5 + 5 + 2 + 2 + 3
