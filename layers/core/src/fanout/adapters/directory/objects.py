"""Single objects of a ledger in a directory, read by range."""

from __future__ import annotations

from fanout.adapters.directory.store import DirectoryWorkStore, version_of
from fanout.model.errors import PreconditionFailed
from fanout.ports.aws import ObjectFound, ObjectReader


class DirectoryObjects:
    """An ``ObjectReader`` of the store, which is called by the name of a bucket; ``others`` reads all other buckets."""

    def __init__(self, store: DirectoryWorkStore, bucket: str, others: ObjectReader) -> None:
        self._store, self._bucket, self._others = store, bucket, others

    def find(self, bucket: str, key: str) -> ObjectFound:
        if bucket != self._bucket:
            return self._others.find(bucket, key)
        data = self._store.get(key)
        return ObjectFound(len(data), version_of(data))

    def lists(self, bucket: str, key: str) -> bool:
        if bucket != self._bucket:
            return self._others.lists(bucket, key)
        return next(iter(self._store.list(key)), None) == key

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        if bucket != self._bucket:
            return self._others.read(bucket, key, etag, offset, length)
        data = self._store.get(key)
        if version_of(data) != etag:
            raise PreconditionFailed(f"{self._store.root}/{key} has another version than {etag[:16]}")
        return data[offset : offset + length]
