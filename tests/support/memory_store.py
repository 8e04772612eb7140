"""A work store and single objects in memory: real adapters for rehearsals and tests."""

from __future__ import annotations

import itertools
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice, takewhile

from fanout.model.errors import NotFound, PreconditionFailed
from fanout.ports.aws import ObjectFound
from fanout.ports.store import Versioned


class MemoryStore:
    """A ``WorkStore`` and a ``VersionedStore`` of one process; a version is a digest of the bytes."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._version = object()
        self._sorted: tuple[object, list[str]] = (None, [])

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.tree.WorkStore``."""
        is_new = key not in self._objects
        self._objects[key] = data
        if is_new:
            self._version = object()

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        with self._lock:
            if key in self._objects:
                return False
            self.put(key, data)
            return True

    def get(self, key: str) -> bytes:
        """See ``ports.tree.WorkStore``."""
        try:
            return self._objects[key]
        except KeyError:
            raise NotFound(key) from None

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.tree.WorkStore``."""
        version, keys = self._sorted
        if version is not self._version:
            version = self._version
            keys = sorted(self._objects)
            self._sorted = (version, keys)
        below = takewhile(lambda key: key.startswith(prefix), islice(keys, bisect_left(keys, prefix), None))
        return iter([key for key in below if key in self._objects])

    def remove(self, keys: Sequence[str]) -> None:
        """See ``ports.tree.WorkStore``."""
        for key in keys:
            self._objects.pop(key, None)

    def read_version(self, key: str) -> Versioned:
        """See ``ports.tree.VersionedStore``."""
        data = self._objects.get(key)
        return Versioned() if data is None else Versioned(data, sha256(data).hexdigest())

    def write_version(self, key: str, data: bytes, version: str) -> None:
        """See ``ports.tree.VersionedStore``."""
        with self._lock:
            if self.read_version(key).version != version:
                raise PreconditionFailed(f"{key} is not what was read")
            self.put(key, data)


class MemoryObjects:
    """An ``ObjectReader`` of one process; an object's ETag is the number of the write that made it."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], tuple[bytes, str]] = {}
        self._writes = itertools.count(1)

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Store an object."""
        self._objects[bucket, key] = (data, f'"{next(self._writes)}"')

    def find(self, bucket: str, key: str) -> ObjectFound:
        """See ``ports.tree.ObjectReader``."""
        data, etag = self._object(bucket, key)
        return ObjectFound(len(data), etag)

    def lists(self, bucket: str, key: str) -> bool:
        """See ``ports.tree.ObjectReader``."""
        return (bucket, key) in self._objects

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        """See ``ports.tree.ObjectReader``."""
        data, stored = self._object(bucket, key)
        if stored != etag:
            raise PreconditionFailed(f"s3://{bucket}/{key} has the ETag {stored}")
        return data[offset : offset + length]

    def _object(self, bucket: str, key: str) -> tuple[bytes, str]:
        try:
            return self._objects[bucket, key]
        except KeyError:
            raise NotFound(f"s3://{bucket}/{key}") from None
