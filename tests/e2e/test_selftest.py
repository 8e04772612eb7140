"""`fanout selftest` whole, on the local stack: it proves, it says so, and leaves its ledgers alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import FANOUT, fanout

pytestmark = pytest.mark.e2e

BUCKET = "selftest"


def keys_of(s3: Any, bucket: str, prefix: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [row["Key"] for page in pages for row in page.get("Contents", [])]


@pytest.mark.timeout(600)
def test_it_proves_a_stack_and_leaves_nothing_also_after_ctrl_c(state: Path, up: Any, tmp_path: Path) -> None:
    s3, work = up["s3"], up["outputs"]["WorkBucketName"]
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="mine", Body=b"stays")
    (up["mount"] / "mine").write_text("stays")
    base = ("selftest", "--local", "--state", state, "--bucket", BUCKET, "--size", "small")

    ended = fanout(*base, "--yes", "--json", "--output", tmp_path / "whole")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = json.loads(ended.stdout)
    assert json.loads((tmp_path / "whole/selftest.json").read_text()) == document
    assert "Proven" in (tmp_path / "whole/selftest.html").read_text()
    assert [(case["name"], case["status"], case["differences"]) for case in document["cases"]] == [
        (name, "succeeded", 0)
        for name in (
            "s3-to-efs",
            "no-change",
            "killed-and-retried",
            "efs-to-s3",
            "sync-with-delete",
            "one-large-file",
            "many-small-files",
        )
    ]
    for case in document["cases"]:
        assert case["forecast"]["seconds"] > 0 and case["forecast"]["dollars"] > 0, case
        assert case["measured"]["seconds"] > 0 and case["measured"]["dollars"] > 0, case
    assert (document["wrong"], document["left"]) == ([], [])

    running = subprocess.Popen(
        [FANOUT, *map(str, base), "--yes", "--output", tmp_path / "cut"],
        stderr=subprocess.PIPE,
        text=True,
        # A shell has its background jobs ignore Ctrl-C, and so all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(up["mount"].glob("fanout-selftest-*/files")):
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.1)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130, said
    cut = json.loads((tmp_path / "cut/selftest.json").read_text())
    assert (cut["status"], cut["left"]) == ("INTERRUPTED", [])

    # What a killed one leaves: no process of it is there to remove anything.
    left = up["mount"] / "fanout-selftest-killed/files"
    left.mkdir(parents=True)
    (left / "a").write_text("left")
    s3.put_object(Bucket=BUCKET, Key="fanout-selftest-killed/files/a", Body=b"left")
    cleaned = fanout(*base, "--clean", "killed")
    assert cleaned.returncode == 0, cleaned.stderr

    assert [path.name for path in up["mount"].iterdir()] == ["mine"]
    assert keys_of(s3, BUCKET, "") == ["mine"]
    # The ledgers of its runs, which nobody may delete, and nothing else of it.
    named = [key for key in keys_of(s3, work, "") if "fanout-selftest-" in key]
    assert named and all(key.startswith("runs/fanout-selftest-") for key in named)
