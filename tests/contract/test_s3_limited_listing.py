"""A role that may list some prefixes alone: S3 says 403 for a missing key."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.model.errors import AccessDenied, NotFound
from tests.contract.scripted_server import ScriptedServer, answer, error

DENIED = error(403, "AccessDenied")


@pytest.fixture
def client(server: ScriptedServer) -> S3Client:
    credentials = Credentials("id", "secret")
    return S3Client(Endpoint("us-east-1", server.url), lambda: credentials, sleep=lambda _: None)


def page(*keys: str) -> bytes:
    contents = "".join(
        f"<Contents><Key>{key}</Key><Size>1</Size><ETag>e</ETag><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"
        for key in keys
    )
    return answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>".encode())


@pytest.mark.parametrize("listed", [(), ("in/key-and-more",)])
def test_a_key_that_is_not_listed_is_missing(client: S3Client, server: ScriptedServer, listed: tuple[str, ...]) -> None:
    server.script = [DENIED, page(*listed)]
    with pytest.raises(NotFound):
        client.head_object("bucket", "in/key")
    assert b"prefix=in%2Fkey" in server.requests[1] and b"max-keys=1" in server.requests[1]


def test_a_key_that_is_listed_may_not_be_read(client: S3Client, server: ScriptedServer) -> None:
    server.script = [DENIED, page("in/key")]
    with pytest.raises(AccessDenied, match="HeadObject"):
        client.head_object("bucket", "in/key")


def test_a_key_that_may_not_be_listed_either_may_not_be_read(client: S3Client, server: ScriptedServer) -> None:
    server.script = [DENIED, DENIED]
    with pytest.raises(AccessDenied):
        client.head_object("bucket", "other/key")
