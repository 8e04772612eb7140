"""What a request names for the objects that it writes, on the wire and in the objects, in each way of writing."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.s3.copier import S3EntryCopier
from fanout.runtime import ends
from tests.support.http import Head
from tests.support.lying_s3 import operation_of
from tests.support.wire import SOURCE, TARGET, Wire, said

TAGS, JOB, ACL = "x-amz-tagging", "x-amz-meta-job", "x-amz-acl"
NAMED = {
    "object_tags": {"team": "a b"},
    "object_metadata": {"job": "7"},
    "object_acl": "bucket-owner-full-control",
}
HEADERS = {TAGS: "team=a%20b", JOB: "7", ACL: "bucket-owner-full-control"}
WRITES = {"PutObject", "CreateMultipartUpload", "CopyObject"}
SPLIT = {"limits": {"split_bytes": 8 * 1024 * 1024}}


def of_object(head: Head) -> dict[str, str]:
    return said(head, HEADERS)


def tags_of(s3: Any, key: str) -> dict[str, str]:
    return {one["Key"]: one["Value"] for one in s3.get_object_tagging(Bucket=TARGET, Key=key)["TagSet"]}


def filled(root: Path) -> None:
    """One file of each size, an empty directory, a symlink and a hard link."""
    (root / "empty").mkdir(parents=True)
    for name, size in {"small": 3, "parts": 9_000_000, "blocks": 20_000_000}.items():
        (root / name).write_bytes(b"x" * size)
    (root / "link").symlink_to("small")
    os.link(root / "small", root / "other")


@pytest.mark.parametrize("split", [{}, SPLIT], ids=["whole", "in blocks"])
def test_every_object_from_a_mount_gets_it(wire: Wire, s3: Any, tmp_path: Path, split: dict[str, Any]) -> None:
    filled(tmp_path / "data/in")
    request = {"source": "efs:///in", "destination": f"s3://{TARGET}/a/", "verify": "all", **split}
    assert wire.flow.run("a", {**request, **NAMED})["status"] == "SUCCEEDED"
    for one in wire.of(TARGET):
        assert of_object(one) == (HEADERS if operation_of(one) in WRITES else {})
    keys = ("empty/", "small", "parts", "blocks", "link", "other")
    for key in (f"a/{name}" for name in keys):
        assert tags_of(s3, key) == {"team": "a b"}
        metadata = s3.head_object(Bucket=TARGET, Key=key)["Metadata"]
        assert metadata["job"] == "7" and "file-mtime" in metadata


def test_nothing_is_named_that_the_request_does_not_name(wire: Wire, tmp_path: Path) -> None:
    """Not even the run: objects are their owner's."""
    filled(tmp_path / "data/in")
    wire.flow.run("a", {"source": "efs:///in", "destination": f"s3://{TARGET}/a/", **SPLIT})
    assert not any(map(of_object, wire.of(TARGET)))
    assert not any("fanout" in value for one in wire.of(TARGET) for value in one.headers.values())


@pytest.mark.parametrize("whole_bytes", [0, 2**30], ids=["in parts", "whole"])
def test_inside_s3_it_stands_over_what_goes_along_and_a_verification_expects_it(
    wire: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch, whole_bytes: int
) -> None:
    in_parts = partial(S3EntryCopier, whole_bytes=whole_bytes, part_bytes=5 * 1024 * 1024)
    monkeypatch.setattr(ends, "S3EntryCopier", in_parts)
    own = {"ContentType": "text/x", "Metadata": {"job": "6", "colour": "red"}, "Tagging": "team=z&kept=1"}
    s3.put_object(Bucket=SOURCE, Key="in/f", Body=b"body", **own)
    request = {"source": f"s3://{SOURCE}/in/", "destination": f"s3://{TARGET}/b/", **NAMED}
    assert wire.flow.run("a", {**request, "verify": "all"})["status"] == "SUCCEEDED"
    found = s3.head_object(Bucket=TARGET, Key="b/f")
    assert (found["ContentType"], found["Metadata"]) == ("text/x", {"job": "7", "colour": "red"})
    assert tags_of(s3, "b/f") == {"team": "a b", "kept": "1"}
    assert wire.flow.run("b", {**request, "mode": "verify"})["status"] == "SUCCEEDED"
    lacks = {name: value for name, value in request.items() if name != "object_metadata"}
    assert wire.flow.run("d", {**lacks, "mode": "verify"})["status"] != "SUCCEEDED"
