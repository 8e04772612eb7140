"""The Object Ownership of a bucket: as moto keeps it, and as S3 answers where it is not told."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.s3.client.client import S3Client
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, NotFound, Throttled, Transient
from tests.contract.scripted_server import ScriptedServer, answer
from tests.support.s3_servers import KEY, S3Server


def error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>said</Message></Error>".encode()


def client_at(url: str) -> S3Client:
    return S3Client(Endpoint("us-east-1", url), lambda: Credentials(KEY, KEY), sleep=lambda seconds: None)


@pytest.mark.parametrize("ownership", ["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter", ""])
def test_what_a_bucket_was_given_is_told(moto_server: S3Server, ownership: str) -> None:
    keys: dict[str, Any] = {"aws_access_key_id": KEY, "aws_secret_access_key": KEY, "region_name": "us-east-1"}
    s3: Any = boto3.client("s3", endpoint_url=moto_server.url, **keys)
    s3.create_bucket(Bucket="owned", **({"ObjectOwnership": ownership} if ownership else {}))
    try:
        told = client_at(moto_server.url).get_bucket_ownership_controls("owned")
    finally:
        s3.delete_bucket(Bucket="owned")
    assert told == (ownership or "ObjectWriter")


@pytest.mark.parametrize(
    ("status", "body", "raised"),
    [
        (403, error("AccessDenied"), AccessDenied),
        (404, error("NoSuchBucket"), InvalidRequest),
        (404, error("Other"), NotFound),
        (501, error("NotImplemented"), InvalidRequest),
        (503, error("SlowDown"), Throttled),
        (200, b"<ListBucketResult/>", Transient),
        (200, b"<OwnershipControls/>", Transient),
        (200, b"<OwnershipControls><Rule/></OwnershipControls>", Transient),
    ],
)
def test_what_is_not_told_is_an_error(
    server: ScriptedServer, status: int, body: bytes, raised: type[FanoutError]
) -> None:
    server.script = [answer(status, body)] * 20
    with pytest.raises(raised, match="owned"):
        client_at(server.url).get_bucket_ownership_controls("owned")


def test_a_denial_names_the_right(server: ScriptedServer) -> None:
    server.script = [answer(403, error("AccessDenied"))]
    with pytest.raises(AccessDenied, match="allow s3:GetBucketOwnershipControls"):
        client_at(server.url).get_bucket_ownership_controls("owned")
