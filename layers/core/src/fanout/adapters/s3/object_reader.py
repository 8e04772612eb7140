"""Single objects of S3, read by range."""

from __future__ import annotations

from collections.abc import Callable

from fanout.adapters.s3.client.client import S3Client
from fanout.ports.aws import ObjectFound


class S3ObjectReader:
    """An ``ObjectReader``; ``client_of`` tells which client reads a bucket."""

    def __init__(self, client_of: Callable[[str], S3Client]) -> None:
        self._client_of = client_of

    def find(self, bucket: str, key: str) -> ObjectFound:
        response = self._client_of(bucket).head_object(bucket, key)
        return ObjectFound(response.total_bytes, response.headers.get("etag", ""))

    def lists(self, bucket: str, key: str) -> bool:
        """Whether a LIST shows the key, which comes before all that it begins."""
        page = self._client_of(bucket).list_objects_v2(bucket, prefix=key, max_keys=1)
        return page.keys == [key]

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        byte_range = (offset, offset + length - 1)
        return self._client_of(bucket).get_object(bucket, key, if_match=etag, byte_range=byte_range).body
