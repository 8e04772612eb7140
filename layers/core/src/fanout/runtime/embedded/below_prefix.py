"""A ledger below a prefix of a bucket: its keys are those of a work bucket, after the prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanout.adapters.s3.work_store import S3WorkStore
from fanout.ports.aws import ObjectFound, ObjectReader
from fanout.ports.store import Versioned


class PrefixStore:
    """A ``WorkStore`` and a ``VersionedStore`` below a prefix of another store."""

    def __init__(self, store: S3WorkStore, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole; a reader sees the old one or the new one."""
        self._store.put(self._prefix + key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        return self._store.put_new(self._prefix + key, data)

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises ``NotFound``."""
        return self._store.get(self._prefix + key)

    def list(self, prefix: str) -> Iterator[str]:
        """The keys that start with the prefix, in their order."""
        return (key.removeprefix(self._prefix) for key in self._store.list(self._prefix + prefix))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove at most 1,000 objects; one that is not there counts as removed."""
        self._store.remove([self._prefix + key for key in keys])

    def read_version(self, key: str) -> Versioned:
        return self._store.read_version(self._prefix + key)

    def write_version(self, key: str, data: bytes, version: str) -> None:
        self._store.write_version(self._prefix + key, data, version)


class PrefixObjects:
    """An ``ObjectReader`` of a ledger that has a bucket's name in documents; ``others`` reads all other buckets."""

    def __init__(self, name: str, place: tuple[str, str], own: ObjectReader, others: ObjectReader) -> None:
        self._name, self._place, self._own, self._others = name, place, own, others

    def find(self, bucket: str, key: str) -> ObjectFound:
        reader, bucket, key = self._at(bucket, key)
        return reader.find(bucket, key)

    def lists(self, bucket: str, key: str) -> bool:
        reader, bucket, key = self._at(bucket, key)
        return reader.lists(bucket, key)

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        reader, bucket, key = self._at(bucket, key)
        return reader.read(bucket, key, etag, offset, length)

    def _at(self, bucket: str, key: str) -> tuple[ObjectReader, str, str]:
        if bucket != self._name:
            return self._others, bucket, key
        return self._own, self._place[0], self._place[1] + key
