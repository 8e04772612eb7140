"""S3 computes checksums for a verification: the handlers on the wire, an S3 Control, and reports as S3 has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.checksums import compute_checksums
from tests.support.batch_operations import BatchOperations, no_row
from tests.support.s3_control import ROLE, over, s3_control
from tests.support.wire import SOURCE, Wire

WORK = "work-bucket"
REQUEST = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///copy", "mode": "verify", "verify": "content"}
NAMES = ("plain", "d/ü and ' %41+&", 'd/a,b"c')


@pytest.fixture
def batch(wire: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchOperations]:
    """Jobs about somebody else's objects, in parts and so without a checksum of the whole."""
    found = over(s3, WORK)
    monkeypatch.setenv("FANOUT_CHECKSUM_ROLE", ROLE)
    monkeypatch.setattr(compute_checksums, "REPORT_SECONDS", 0.0)
    with s3_control(found, monkeypatch) as control:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3_CONTROL", control)
        yield found


def put(s3: Any, tmp_path: Path, names: tuple[str, ...] = NAMES) -> None:
    for name in names:
        begun = s3.create_multipart_upload(Bucket=SOURCE, Key=f"in/{name}", ChecksumAlgorithm="SHA256")
        place = {"Bucket": SOURCE, "Key": f"in/{name}", "UploadId": begun["UploadId"]}
        part = s3.upload_part(**place, PartNumber=1, Body=name.encode(), ChecksumAlgorithm="SHA256")
        parts = [{"PartNumber": 1, "ETag": part["ETag"]}]
        s3.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
        path = tmp_path / "data/copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def read(wire: Wire) -> int:
    """How many objects of the source were read."""
    return sum(one.method == "GET" and "/in/" in one.target for one in wire.of(SOURCE))


def note(s3: Any, run_id: str) -> str:
    body = s3.get_object(Bucket=WORK, Key=f"runs/{run_id}/notes/checksums.json")["Body"].read()
    return "; ".join(json.loads(body)["notes"])


def test_no_object_is_read_where_a_job_told_its_checksum(
    wire: Wire, batch: BatchOperations, s3: Any, tmp_path: Path
) -> None:
    put(s3, tmp_path)
    summary = wire.flow.run("r", REQUEST | {"checksums": "computed"})
    assert note(s3, "r").startswith("S3 computed the checksums of 3 of 3 objects")
    assert (summary["status"], read(wire)) == ("SUCCEEDED", 0)
    assert sorted(batch.objects) == sorted(f"in/{name}" for name in NAMES)
    assert wire.flow.called.count("ComputeChecksums") == batch.looks + 1


def test_the_lists_of_objects_have_no_key_where_the_work_bucket_has_one(
    wire: Wire, batch: BatchOperations, s3: Any, tmp_path: Path
) -> None:
    """S3 Batch Operations takes no list of objects that is encrypted with a KMS key."""
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "own"}}
    s3.put_bucket_encryption(Bucket=WORK, ServerSideEncryptionConfiguration={"Rules": [rule]})
    put(s3, tmp_path)
    wire.flow.run("r", REQUEST | {"checksums": "computed"})
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=WORK, Prefix="runs/r/")["Contents"]]
    encrypted = {key: s3.head_object(Bucket=WORK, Key=key)["ServerSideEncryption"] for key in keys}
    lists = {key for key in keys if "/checksums/jobs/manifests/" in key}
    assert lists
    assert {key for key, how in encrypted.items() if how == "AES256"} == lists
    assert set(encrypted.values()) == {"AES256", "aws:kms"}


def test_without_the_field_each_is_read(wire: Wire, batch: BatchOperations, s3: Any, tmp_path: Path) -> None:
    put(s3, tmp_path)
    assert wire.flow.run("r", REQUEST)["status"] == "SUCCEEDED"
    assert (read(wire), batch.created) == (3, {})


def test_what_no_row_tells_is_read(wire: Wire, batch: BatchOperations, s3: Any, tmp_path: Path) -> None:
    batch.rows = lambda row: [row] if row[1] == "in/plain" else no_row(row)
    put(s3, tmp_path)
    (tmp_path / "data/copy/plain").write_bytes(b"other")
    assert wire.flow.run("r", REQUEST | {"checksums": "computed"})["status"] == "FAILED_WITH_ITEMS"
    assert read(wire) == 2


def test_a_job_that_is_refused_is_a_note(wire: Wire, batch: BatchOperations, s3: Any, tmp_path: Path) -> None:
    batch.refuses = "the role cannot be assumed"
    put(s3, tmp_path)
    assert wire.flow.run("r", REQUEST | {"checksums": "computed"})["status"] == "SUCCEEDED"
    assert read(wire) == 3 and "the role cannot be assumed" in note(s3, "r")
