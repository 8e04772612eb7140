"""An S3 that lies, and a client that has no other way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import pytest

from fanout.adapters.s3.client.client import S3Client
from fanout.model.location import S3Location
from tests.contract.conftest import client_of
from tests.contract.s3_lies.ends import PAGE_KEYS
from tests.support.lying_s3 import LyingS3
from tests.support.s3_servers import S3Server


@pytest.fixture
def liar(s3_url: str) -> Iterator[LyingS3]:
    made = LyingS3(s3_url)
    yield made
    made.close()


@pytest.fixture
def deceived(liar: LyingS3, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Client:
    """A client whose way to S3 is the liar, and which asks for pages of a few keys."""
    client = client_of(dataclasses.replace(s3_server, url=liar.url))
    lists = client.list_objects_v2
    monkeypatch.setattr(
        client, "list_objects_v2", lambda bucket, **options: lists(bucket, **{"max_keys": PAGE_KEYS, **options})
    )
    return client


@pytest.fixture
def locations(make_bucket: Callable[[], str]) -> Iterator[S3Location]:
    return (S3Location(make_bucket(), "in/") for _ in range(9))
