"""Two runs through the handlers, from a directory to moto's S3: the second one uses the index of the first."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from fanout.runtime import bootstrap
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


@pytest.fixture
def without_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times call everything of one size unchanged, so that nothing else than a proof tells."""
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))


def forget_indexes(s3: Any) -> None:
    """As after runs that leave none."""
    for found in s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/indexes/").get("Contents", []):
        s3.delete_object(Bucket="work-bucket", Key=found["Key"])


@pytest.mark.usefixtures("without_times")
def test_without_an_index_a_head_tells_a_file_from_another_of_its_size(
    s3: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    for name in ("a", "b", "link"):
        (tmp_path / "tree" / name).write_text("one") if name != "link" else os.symlink("one", tmp_path / "tree/link")
    flow = HandlerFlow(invoke, s3, monkeypatch, {"data": tmp_path, "archive": tmp_path / "archive"}, bootstrap)
    flow.run("look-1", REQUEST)
    assert copied(s3, "look-1") == 3
    forget_indexes(s3)
    (tmp_path / "tree/a").write_text("two")
    flow.run("look-2", REQUEST)
    assert copied(s3, "look-2") == 1
    assert s3.get_object(Bucket="data-bucket", Key="copy/a")["Body"].read() == b"two"
    forget_indexes(s3)
    flow.run("look-3", REQUEST)
    assert copied(s3, "look-3") == 0


@pytest.mark.usefixtures("without_times")
def test_without_an_index_a_version_that_stands_again_is_copied(
    s3: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = {"source": "s3://data-bucket/in/", "destination": "efs:///copy"}
    s3.put_bucket_versioning(Bucket="data-bucket", VersioningConfiguration={"Status": "Enabled"})
    for number in (1, 2):
        metadata = {"file-mtime": f"{number}000000001ns"}
        put = s3.put_object(Bucket="data-bucket", Key="in/a", Body=f"v{number}".encode(), Metadata=metadata)
    s3.put_object(Bucket="data-bucket", Key="in/plain", Body=b"plain")
    flow = HandlerFlow(invoke, s3, monkeypatch, {"data": tmp_path, "archive": tmp_path / "archive"}, bootstrap)
    flow.run("version-1", request)
    assert (tmp_path / "copy/a").read_text() == "v2"
    modified = s3.head_object(Bucket="data-bucket", Key="in/plain")["LastModified"]
    assert (tmp_path / "copy/plain").stat().st_mtime_ns == int(modified.timestamp()) * 10**9
    forget_indexes(s3)
    s3.delete_object(Bucket="data-bucket", Key="in/a", VersionId=put["VersionId"])
    flow.run("version-2", request)
    assert copied(s3, "version-2") == 1
    assert (tmp_path / "copy/a").read_text() == "v1"
    forget_indexes(s3)
    flow.run("version-3", request)
    assert copied(s3, "version-3") == 0


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
        "schema_version": 2,
        "run": "index-2",
    }
