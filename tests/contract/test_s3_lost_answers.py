"""A multipart upload whose completion happened although its answer was lost."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.conditions import ANYTHING, Condition
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.target import MultipartTarget
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.errors import ItemError, NotFound
from fanout.model.outcome import Reason
from tests.contract.scripted_server import RESET, ScriptedServer, answer, error

CREATED = answer(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
PART = answer(200, b"", 'ETag: "p"')


def filled_target(server: ScriptedServer, condition: Condition = ANYTHING) -> MultipartTarget:
    credentials = Credentials("id", "secret")
    client = S3Client(Endpoint("us-east-1", server.url), lambda: credentials, sleep=lambda seconds: None)
    target = MultipartTarget(ObjectPlace(client, "bucket", "key"), 4, {}, condition)
    server.script = [CREATED, PART]
    target.write(0, b"body")
    return target


def head_answer(body: bytes) -> bytes:
    checksum = f"x-amz-checksum-crc64nvme: {to_base64(crc64nvme(body))}"
    return answer(200, b"", 'ETag: "e"', checksum, length=len(body))


GONE = error(404, "NoSuchUpload")


def page_with(etag: bytes) -> bytes:
    return answer(
        200,
        b"<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>key</Key><Size>4</Size><ETag>%b</ETag>"
        b"<LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>" % etag,
    )


PAGE = page_with(b"e")


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


# Another writer was at work at the key: the five answers of a client that repeats, and one inside a 200.
# docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html, If-None-Match
CONFLICTS = pytest.mark.parametrize(
    "refusals",
    [[error(409, "ConditionalRequestConflict")] * 5, [error(200, "PreconditionFailed")], [error(200, "NoSuchKey")]],
    ids=["409", "412 inside a 200", "404 inside a 200"],
)
GIVEN_UP = answer(204)


@CONFLICTS
def test_completion_that_met_its_own_twin_is_the_commit(server: ScriptedServer, refusals: list[bytes]) -> None:
    target = filled_target(server, Condition('"listed"'))
    server.script = [*refusals, PAGE, head_answer(b"body"), GIVEN_UP]
    target.commit(crc64nvme(b"body"))
    assert server.script == []


@CONFLICTS
@pytest.mark.parametrize(
    ("etag", "said"),
    [('"e"', "something else was written there after it was listed"), ('"listed"', "it is being written by others")],
)
def test_completion_that_met_another_writer_is_a_refusal(
    server: ScriptedServer, refusals: list[bytes], etag: str, said: str
) -> None:
    target = filled_target(server, Condition('"listed"'))
    found = answer(200, b"", f"ETag: {etag}", f"x-amz-checksum-crc64nvme: {to_base64(crc64nvme(b'them'))}", length=4)
    server.script = [*refusals, page_with(etag.strip('"').encode()), found, GIVEN_UP]
    with pytest.raises(ItemError, match=said) as refused:
        target.commit(crc64nvme(b"body"))
    assert refused.value.reason is Reason.DESTINATION_CHANGED
