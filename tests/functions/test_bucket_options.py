"""Who pays and who owns, on the wire: each request of whole runs to a bucket says what the run was told of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from fanout.adapters.s3.copier import S3EntryCopier
from fanout.model.errors import AccessDenied
from fanout.runtime import ends
from tests.support.http import Head
from tests.support.lying_s3 import operation_of
from tests.support.wire import SOURCE, TARGET, Wire, said

WORK = "work-bucket"
HERE, THERE, OURS = "111122223333", "444455556666", "123456789012"
PAYER, OWNER = "x-amz-request-payer", "x-amz-expected-bucket-owner"
SOURCE_OWNER = "x-amz-source-expected-bucket-owner"
OPTIONS = {
    "source_bucket": {"requester_pays": True, "expected_owner": HERE},
    "destination_bucket": {"expected_owner": THERE},
}
SPLIT = {"limits": {"split_bytes": 8 * 1024 * 1024}}


def of_buckets(head: Head) -> dict[str, str]:
    """What a request says of buckets."""
    return said(head, (PAYER, OWNER, SOURCE_OWNER))


def fill(s3: Any, prefix: str = "in/") -> None:
    for name, body in {"d/f": b"x", "big": b"b" * 9_000_000, "empty/": b""}.items():
        s3.put_object(Bucket=SOURCE, Key=prefix + name, Body=body)
    s3.put_object(Bucket=SOURCE, Key="lists/some.csv", Body=b"d/f\n")


def test_each_request_to_a_bucket_says_it(wire: Wire, s3: Any, tmp_path: Path) -> None:
    fill(s3)
    source = {"source": f"s3://{SOURCE}/in/"}
    down = {**source, "source_bucket": OPTIONS["source_bucket"]}
    wire.flow.run("a", {**down, "destination": "efs:///in", "verify": "all", **SPLIT})
    wire.flow.run("b", {**down, "destination": "efs:///b", "manifest": f"s3://{SOURCE}/lists/some.csv"})
    assert {operation_of(one) for one in wire.of(SOURCE)} >= {"ListObjectsV2", "GetObject", "HeadObject"}
    assert any("lists/" in one.target for one in wire.of(SOURCE))
    assert all(of_buckets(one) == {PAYER: "requester", OWNER: HERE} for one in wire.of(SOURCE))
    up = {"source": "efs:///in", "destination_bucket": OPTIONS["destination_bucket"]}
    (tmp_path / "data/in/link").symlink_to("d/f")
    wire.flow.run("c", {**up, "destination": f"s3://{TARGET}/c/", **SPLIT, "verify": "all"})
    (tmp_path / "data/in/d/f").unlink()
    wire.flow.run(
        "d", {**up, "destination": f"s3://{TARGET}/c/", "mode": "sync", "delete_guard": {"max_percent": 90.0}}
    )
    written = {"PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "AbortMultipartUpload"}
    assert {operation_of(one) for one in wire.of(TARGET)} >= {*written, "DeleteObjects"}
    assert all(of_buckets(one) == {OWNER: THERE} for one in wire.of(TARGET))
    assert wire.of(WORK) and all(of_buckets(one) == {OWNER: OURS} for one in wire.of(WORK))


def test_a_copy_inside_s3_says_it_of_both_ends(wire: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(s3)
    in_parts = partial(S3EntryCopier, whole_bytes=1_000_000, part_bytes=5 * 1024 * 1024)
    monkeypatch.setattr(ends, "S3EntryCopier", in_parts)
    wire.flow.run("a", {"source": f"s3://{SOURCE}/in/", "destination": f"s3://{TARGET}/a/", **OPTIONS})
    copies = [one for one in wire.of(TARGET) if "x-amz-copy-source" in one.headers]
    assert {operation_of(one) for one in copies} == {"CopyObject", "UploadPartCopy"}
    for one in wire.of(TARGET):
        expected = {PAYER: "requester", OWNER: THERE, SOURCE_OWNER: HERE} if one in copies else {OWNER: THERE}
        assert of_buckets(one) == expected
    assert all(of_buckets(one) == {PAYER: "requester", OWNER: HERE} for one in wire.of(SOURCE))
    assert {unquote(one.headers["x-amz-copy-source"]).partition("/")[0] for one in copies} == {SOURCE}


def test_a_request_that_says_nothing_says_nothing_on_the_wire_also_after_one_that_did(wire: Wire, s3: Any) -> None:
    """A function's process carries out one run after another."""
    fill(s3)
    request = {"source": f"s3://{SOURCE}/in/", "destination": f"s3://{TARGET}/a/"}
    wire.flow.run("a", {**request, **OPTIONS})
    wire.heads.clear()
    wire.flow.run("b", request)
    assert wire.of(SOURCE) and not any(map(of_buckets, [*wire.of(SOURCE), *wire.of(TARGET)]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source_bucket": {"expected_owner": HERE}}, f"{SOURCE} may not belong to {HERE}"),
        ({}, "if its requesters pay, set requester_pays"),
    ],
)
def test_what_else_than_a_permission_may_be_missing_is_said_at_the_plan(
    wire: Wire, s3: Any, options: dict[str, Any], words: str
) -> None:
    fill(s3)
    wire.proxy.choose = lambda head: "403 AccessDenied" if head.target.startswith(f"/{SOURCE}/?") else ""
    with pytest.raises(AccessDenied, match=words):
        wire.flow.plan("a", {"source": f"s3://{SOURCE}/in/", "destination": "efs:///a", **options})
