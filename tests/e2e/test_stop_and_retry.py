"""A run on the local stack that is met by a second one, stopped in its middle, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import fanout
from tests.e2e.processes import Workers

pytestmark = pytest.mark.e2e

FILES = 1_500
REQUEST = {
    "source": "s3://stopping/in/",
    "destination": "efs:///copy",
    # Several shards, one after the other, so that some of them are copied and others not.
    "limits": {"max_concurrency": 1, "shard_seconds": 0.1},
}


def until(what: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.1)


def test_a_second_run_is_skipped_and_a_stopped_one_is_gone_on_with(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    s3 = up["s3"]
    s3.create_bucket(Bucket="stopping")
    contents = {f"d{number % 7}/f{number}": b"%d" % number * 50 for number in range(FILES)}
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(lambda name: s3.put_object(Bucket="stopping", Key=f"in/{name}", Body=contents[name]), contents)
        )
    request = tmp_path / "request.json"
    request.write_text(json.dumps(REQUEST))
    copy = up["mount"] / "copy"

    def copied() -> dict[str, bytes]:
        return {str(path.relative_to(copy)): path.read_bytes() for path in copy.rglob("*f*") if path.is_file()}

    assert fanout("start", "--detach", request, "--name", "met", *local).returncode == 0
    until(lambda: len(copied()) > 5)
    # It stands still while it is met and stopped, however slow the machine is.
    frozen = list(Workers(up["endpoint"]).running("ShortWay"))
    assert frozen
    for worker in frozen:
        os.kill(worker, signal.SIGSTOP)

    second = fanout("start", request, "--name", "second", "--watch", "--json", *local)
    assert second.returncode == 3, second.stderr
    document = json.loads(second.stdout)
    assert (document["status"], document["skipped"]["holder"]) == ("SKIPPED", "met")
    assert "fanout watch met --local" in second.stderr
    report = fanout("report", "second", "--output", tmp_path / "second", *local)
    assert report.returncode == 3 and "Skipped" in (tmp_path / "second/report.html").read_text()

    stopped = fanout("stop", "met", "--json", *local)
    assert json.loads(stopped.stdout) == {"run_id": "met", "stopped": True}
    assert f"listed {FILES:,}, at least " in stopped.stderr
    done = {name: content for name, content in copied().items() if name in contents}
    assert 0 < len(done) < FILES and all(contents[name] == content for name, content in done.items())
    for worker in frozen:
        os.kill(worker, signal.SIGCONT)
    refused = fanout("report", "met", *local)
    assert refused.returncode == 2 and "was stopped and has no report" in refused.stderr

    # The stopped run never took itself out of who writes, and blocks nobody.
    retried = fanout("retry", "met", "--name", "third", "--watch", "--json", *local)
    assert retried.returncode == 0, retried.stdout + retried.stderr
    totals = json.loads(retried.stdout)["totals"]
    assert totals["listed"]["entries"] == FILES
    assert totals["copied"]["entries"] + totals["unchanged"]["entries"] == FILES
    assert copied() == contents
    rows = {row["run_id"]: row["status"] for row in json.loads(fanout("list", "--json", *local).stdout)}
    assert rows == {"met": "ABORTED", "second": "SKIPPED", "third": "SUCCEEDED"}
    assert fanout("start", request, "--name", "fourth", "--watch", *local).returncode == 0
