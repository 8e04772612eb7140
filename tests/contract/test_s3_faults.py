"""The client against a server that fails by script: what is repeated, how often, and which error is left."""

from __future__ import annotations

import socket

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.http.transport import Timeouts, Transport
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.responses import Part
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import ObjectSource
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry, Kind
from fanout.model.errors import (
    AccessDenied,
    CustomerKey,
    FanoutError,
    InvalidRequest,
    ItemError,
    NotFound,
    Throttled,
    Transient,
)
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from tests.contract.scripted_server import RESET, STALL, TRUNCATED, ScriptedServer, answer, error

OK = answer(200, b"body", 'ETag: "e"')
STORED = answer(200, b"", 'ETag: "e"')
COPIED = answer(200, b'<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>')
COMPLETED = answer(200, b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
MALFORMED = (
    b"<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong</Message>"
    b"<Region>eu-west-1</Region></Error>"
)
OF_CUSTOMER_KEY = (
    b"<Error><Code>InvalidRequest</Code><Message>The object was stored using a form of Server Side Encryption. "
    b"The correct parameters must be provided to retrieve the object.</Message></Error>"
)
LISTED = (
    b'<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>key</Key><Size>3</Size><ETag>"e"</ETag>'
    b"<LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>"
)


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def client(server: ScriptedServer, waits: list[float]) -> S3Client:
    transport = Transport(Timeouts(connect_seconds=1, stall_seconds=1, total_seconds=2))
    credentials = Credentials("id", "secret")
    endpoint = Endpoint("us-east-1", server.url)
    return S3Client(endpoint, lambda: credentials, transport=transport, sleep=waits.append, draw=lambda: 1.0)


PASSING = [
    error(503, "SlowDown"),
    error(500, "InternalError"),
    error(400, "RequestTimeout"),
    answer(502),
    answer(504),
    RESET,
    TRUNCATED,
    STALL,
]


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: fault[:24].decode())
def test_passing_fault_is_repeated(client: S3Client, server: ScriptedServer, waits: list[float], fault: bytes) -> None:
    server.script = [fault, OK]
    assert client.get_object("bucket", "key").body == b"body"
    assert len(waits) == 1


def test_put_is_repeated_with_its_body(client: S3Client, server: ScriptedServer) -> None:
    server.script = [RESET, error(503, "SlowDown"), STORED]
    assert client.put_object("bucket", "key", b"body") == '"e"'
    assert len(server.requests) == 3


def test_slow_down_inside_a_200_is_repeated(client: S3Client, server: ScriptedServer) -> None:
    server.script = [error(200, "SlowDown"), COPIED]
    assert client.copy_object("bucket", "key", "bucket", "source").etag == '"e"'
    server.script = [error(200, "InternalError"), answer(200), COMPLETED]
    parts = [Part(1, '"p"')]
    assert client.complete_multipart_upload("bucket", "key", "id", parts, crc64nvme=0, size=0).etag == '"e"'


def test_waits_double_and_end_after_five_attempts(client: S3Client, server: ScriptedServer, waits: list[float]) -> None:
    server.script = [error(503, "SlowDown")] * 5
    with pytest.raises(Throttled, match=r"GetObject on s3://bucket/key: 503 SlowDown"):
        client.get_object("bucket", "key")
    assert waits == [0.2, 0.4, 0.8, 1.6]


@pytest.mark.parametrize(
    ("fault", "expected", "words"),
    [
        (error(503, "SlowDown"), Throttled, "SlowDown"),
        (answer(503), Throttled, "503"),
        (error(500, "InternalError"), Transient, "InternalError"),
        (RESET, Transient, "ConnectionBroken"),
        (TRUNCATED, Transient, "ConnectionBroken"),
    ],
)
def test_fault_that_stays_is_named(
    client: S3Client, server: ScriptedServer, fault: bytes, expected: type[FanoutError], words: str
) -> None:
    server.script = [fault] * 5
    with pytest.raises(expected, match=words):
        client.get_object("bucket", "key")


@pytest.mark.parametrize(
    ("fault", "expected", "words"),
    [
        (error(403, "AccessDenied"), AccessDenied, "allow s3:GetObject"),
        (error(403, "RequestTimeTooSkewed"), AccessDenied, "RequestTimeTooSkewed"),
        (error(404, "NoSuchKey"), NotFound, "s3://bucket/key"),
        (error(404, "NoSuchBucket"), InvalidRequest, "bucket does not exist"),
        (error(301, "PermanentRedirect", "x-amz-bucket-region: eu-west-1"), InvalidRequest, "region eu-west-1"),
        (answer(400, b"", "x-amz-bucket-region: eu-west-1"), InvalidRequest, "region eu-west-1"),
        (error(400, "InvalidBucketName"), InvalidRequest, "InvalidBucketName"),
        (
            error(301, "PermanentRedirect", "x-amz-bucket-region: eu-west-1"),
            InvalidRequest,
            "is in region eu-west-1, not us-east-1; start again: the plan of a new run asks where each bucket is",
        ),
        (answer(400, MALFORMED), InvalidRequest, "is in region eu-west-1, not us-east-1"),
        (answer(400, OF_CUSTOMER_KEY), CustomerKey, "SSE-C is not supported"),
    ],
)
def test_fault_that_can_not_pass_is_not_repeated(
    client: S3Client, server: ScriptedServer, fault: bytes, expected: type[FanoutError], words: str
) -> None:
    server.script = [fault]
    with pytest.raises(expected, match=words):
        client.get_object("bucket", "key")


def test_an_object_of_a_customers_key_is_one_entry_that_can_not_be_read(
    client: S3Client, server: ScriptedServer
) -> None:
    """S3 answers 400, which says of another request that the run itself is wrong; a HEAD does not even say why."""
    entry = Entry("key", Kind.FILE, 3, etag='"e"')
    server.script = [answer(400, OF_CUSTOMER_KEY)]
    with pytest.raises(ItemError, match="SSE-C is not supported") as caught:
        ObjectSource(ObjectPlace(client, "bucket", "key"), entry, 8).read(0, 3)
    assert caught.value.reason is Reason.CUSTOMER_KEY
    server.script = [answer(400), answer(200, LISTED)]
    with pytest.raises(ItemError, match="SSE-C is not supported") as caught:
        ObjectSource(ObjectPlace(client, "bucket", "key"), entry, 2).attributes  # noqa: B018 - a HEAD
    assert caught.value.reason is Reason.CUSTOMER_KEY
    ends = S3Location("bucket", ""), S3Location("other", "")
    server.script = [answer(400), answer(200, LISTED)]
    with pytest.raises(ItemError, match="SSE-C is not supported") as caught:
        S3EntryCopier(client, *ends).copy(entry, NEVER)
    assert caught.value.reason is Reason.CUSTOMER_KEY


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    client = S3Client(Endpoint("us-east-1", url), lambda: Credentials("id", "secret"), sleep=lambda seconds: None)
    with pytest.raises(Transient, match="ConnectionBroken"):
        client.get_object("bucket", "key")


def test_credentials_are_asked_for_at_every_attempt(server: ScriptedServer) -> None:
    names = iter(["first", "second"])
    endpoint = Endpoint("us-east-1", server.url)
    client = S3Client(endpoint, lambda: Credentials(next(names), "secret"), sleep=lambda seconds: None)
    server.script = [error(400, "ExpiredToken"), OK]
    client.get_object("bucket", "key")
    assert [b"Credential=second/" in head for head in server.requests] == [False, True]


def test_keys_are_sent_as_they_are(client: S3Client, server: ScriptedServer) -> None:
    server.script = [OK, STORED]
    client.get_object("bucket", "../a//./b+ ")
    client.put_object("bucket", "key", b"x", {"x-amz-meta-empty": ""})
    assert server.requests[0].startswith(b"GET /bucket/../a//./b%2B%20 HTTP/1.1\r\n")
    assert b"x-amz-meta-empty:\r\n" in server.requests[1]
    assert b"content-type" not in server.requests[1].lower()


def test_what_the_work_store_could_not_remove_is_tried_again(server: ScriptedServer, client: S3Client) -> None:
    kept = (
        b"<DeleteResult><Deleted><Key>staged/a</Key></Deleted>"
        b"<Error><Key>staged/b</Key><Code>InternalError</Code><Message>x</Message></Error></DeleteResult>"
    )
    gone = b"<DeleteResult><Deleted><Key>staged/b</Key></Deleted></DeleteResult>"
    server.script = [answer(200, kept), answer(200, gone)]
    store = S3WorkStore(client, "work")
    with pytest.raises(Transient, match="1 of 2 objects, work/staged/b first"):
        store.remove(["staged/a", "staged/b"])
    store.remove(["staged/b"])
