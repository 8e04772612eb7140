"""The conformance suite of the port ``ObjectReader``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.adapters.directory.objects import DirectoryObjects
from fanout.adapters.directory.store import DirectoryWorkStore
from fanout.adapters.s3.work_store import S3ObjectReader
from fanout.model.errors import NotFound, PreconditionFailed
from fanout.ports.aws import ObjectReader
from tests.contract.conftest import SERVERS, client_of, new_bucket
from tests.support.memory_store import MemoryObjects

Put = Callable[[bytes], None]


@pytest.fixture(params=["memory", "directory", *SERVERS])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ObjectReader, str, Put]:
    """A reader, a bucket, and what writes the key ``k`` in it."""
    if request.param == "memory":
        objects = MemoryObjects()
        return objects, "lists", lambda data: objects.put("lists", "k", data)
    if request.param == "directory":
        store = DirectoryWorkStore(str(tmp_path / "ledger"))
        return DirectoryObjects(store, "ledger", MemoryObjects()), "ledger", lambda data: store.put("k", data)
    client = client_of(request.getfixturevalue(request.param))
    bucket = new_bucket(client)

    def put(data: bytes) -> None:
        client.put_object(bucket, "k", data)

    return S3ObjectReader(lambda _bucket: client), bucket, put


def test_an_object_is_found_and_read_by_range(stored: tuple[ObjectReader, str, Put]) -> None:
    objects, bucket, put = stored
    put(b"0123456789")
    found = objects.find(bucket, "k")
    assert found.size == 10
    assert objects.read(bucket, "k", found.etag, 0, 4) == b"0123"
    assert objects.read(bucket, "k", found.etag, 7, 100) == b"789"


def test_one_that_was_written_since_or_is_not_there_is_told(stored: tuple[ObjectReader, str, Put]) -> None:
    objects, bucket, put = stored
    put(b"first")
    found = objects.find(bucket, "k")
    put(b"second")
    with pytest.raises(PreconditionFailed):
        objects.read(bucket, "k", found.etag, 0, 1)
    with pytest.raises(NotFound):
        objects.find(bucket, "none")
    with pytest.raises(NotFound):
        objects.read(bucket, "none", found.etag, 0, 1)


def test_a_listing_shows_a_key_and_not_what_it_begins(stored: tuple[ObjectReader, str, Put]) -> None:
    objects, bucket, put = stored
    assert not objects.lists(bucket, "k")
    put(b"data")
    assert objects.lists(bucket, "k")
    assert not objects.lists(bucket, "")
