"""The ledger's place in S3, and single objects read by range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.listings import object_pages
from fanout.model.checksum import crc64nvme
from fanout.model.errors import NotFound, PreconditionFailed, Transient
from fanout.ports.aws import ObjectFound
from fanout.ports.store import Versioned

_SSE_S3 = {"x-amz-server-side-encryption": "AES256"}


class S3WorkStore:
    """A ``WorkStore`` and a ``VersionedStore`` over the keys of one bucket; a version is an ETag.

    Writes are checked by checksum, listings against their request. A reader knows nothing of an object beforehand, so
    the adapter cannot detect the answer to another GET. The ledger's documents therefore name themselves.
    ``without_key`` says of a key whether its object has SSE-S3 where the bucket encrypts with a KMS key.
    """

    def __init__(self, client: S3Client, bucket: str, without_key: Callable[[str], bool] = lambda key: False) -> None:
        self._client = client
        self._bucket = bucket
        self._without_key = without_key

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole; a reader sees the old one or the new one."""
        headers = _SSE_S3 if self._without_key(key) else {}
        self._client.put_object(self._bucket, key, data, headers, crc64nvme=crc64nvme(data))

    def put_new(self, key: str, data: bytes) -> bool:
        try:
            headers = {"if-none-match": "*"} | (_SSE_S3 if self._without_key(key) else {})
            self._client.put_object(self._bucket, key, data, headers, crc64nvme=crc64nvme(data))
        except PreconditionFailed:
            return False
        return True

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises ``NotFound``."""
        return self._client.get_object(self._bucket, key).body

    def list(self, prefix: str) -> Iterator[str]:
        """The keys that start with the prefix, in their order."""
        for page in object_pages(self._client, self._bucket, prefix):
            yield from page.keys

    def remove(self, keys: Sequence[str]) -> None:
        """Remove at most 1,000 objects; one that is not there counts as removed."""
        failed = self._client.delete_objects(self._bucket, keys)
        if failed:
            key, reason = next(iter(failed.items()))
            raise Transient(f"removing {len(failed)} of {len(keys)} objects, {self._bucket}/{key} first: {reason}")

    def read_version(self, key: str) -> Versioned:
        try:
            found = self._client.get_object(self._bucket, key)
        except NotFound:
            return Versioned()
        return Versioned(found.body, found.headers.get("etag", ""))

    def write_version(self, key: str, data: bytes, version: str) -> None:
        try:
            condition = {"if-match": version} if version else {"if-none-match": "*"}
            self._client.put_object(self._bucket, key, data, condition, crc64nvme=crc64nvme(data))
        except NotFound as error:
            raise PreconditionFailed(f"s3://{self._bucket}/{key} is not there any more") from error


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
