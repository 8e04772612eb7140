"""A multipart upload whose completion happened although its answer was lost."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.target import MultipartTarget
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.errors import NotFound
from tests.contract.scripted_server import RESET, ScriptedServer, answer, error

CREATED = answer(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
PART = answer(200, b"", 'ETag: "p"')


def filled_target(server: ScriptedServer) -> MultipartTarget:
    credentials = Credentials("id", "secret")
    client = S3Client(Endpoint("us-east-1", server.url), lambda: credentials, sleep=lambda seconds: None)
    target = MultipartTarget(ObjectPlace(client, "bucket", "key"), 4, {})
    server.script = [CREATED, PART]
    target.write(0, b"body")
    return target


def head_answer(body: bytes) -> bytes:
    checksum = f"x-amz-checksum-crc64nvme: {to_base64(crc64nvme(body))}"
    return answer(200, b"", 'ETag: "e"', checksum, length=len(body))


GONE = error(404, "NoSuchUpload")
PAGE = answer(
    200,
    b"<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>key</Key><Size>4</Size><ETag>e</ETag>"
    b"<LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>",
)


def test_object_of_the_same_checksum_is_the_commit(server: ScriptedServer) -> None:
    target = filled_target(server)
    server.script = [RESET, GONE, GONE, PAGE, head_answer(b"body")]
    target.commit(crc64nvme(b"body"))
    target.abort()
    assert server.script == []


def test_another_object_is_not(server: ScriptedServer) -> None:
    target = filled_target(server)
    server.script = [RESET, GONE, GONE, PAGE, head_answer(b"other")]
    with pytest.raises(NotFound, match="NoSuchUpload"):
        target.commit(crc64nvme(b"body"))
