"""Two runs through the handlers, from a directory to moto's S3: the second one uses the index of the first."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from fanout import bootstrap
from tests.functions.conftest import Invoke
from tests.support.handler_flow import HandlerFlow

REQUEST = {"source": "efs:///tree", "destination": "s3://data-bucket/copy/"}
MARGIN_SECONDS = 2.1  # what is written a second and more after a file changed counts as written after


def copied(s3: Any, run_id: str) -> int:
    """The entries that a run copied."""
    summary = json.loads(s3.get_object(Bucket="work-bucket", Key=f"runs/{run_id}/summary.json")["Body"].read())
    assert summary["status"] == "SUCCEEDED", summary
    found: int = summary["totals"]["copied"]["entries"]
    return found


def test_files_that_came_with_a_renamed_directory_are_copied(
    s3: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, mtime in (("one", 7), ("two", 8)):
        (tmp_path / "tree" / name).mkdir(parents=True)
        for number in range(3):
            (tmp_path / f"tree/{name}/f{number}").write_text(f"{name}-{number}")
            os.utime(tmp_path / f"tree/{name}/f{number}", (mtime, mtime))
    (tmp_path / "archive").mkdir()
    time.sleep(MARGIN_SECONDS)
    flow = HandlerFlow(invoke, s3, monkeypatch, {"data": tmp_path, "archive": tmp_path / "archive"}, bootstrap)
    flow.run("index-1", REQUEST)
    assert copied(s3, "index-1") == 8
    os.rename(tmp_path / "tree/one", tmp_path / "aside")
    os.rename(tmp_path / "tree/two", tmp_path / "tree/one")
    os.rename(tmp_path / "aside", tmp_path / "tree/two")
    flow.run("index-2", REQUEST)
    assert copied(s3, "index-2") >= 6  # and the two directories, where a rename moves their own times
    for path in ("one/f1", "two/f2"):
        stored = s3.get_object(Bucket="data-bucket", Key=f"copy/{path}")["Body"].read()
        assert stored == (tmp_path / "tree" / path).read_bytes()
    flow.run("index-3", REQUEST)
    assert json.loads(s3.get_object(Bucket="work-bucket", Key="runs/index-3/earlier.json")["Body"].read()) == {
        "run": "index-2"
    }
