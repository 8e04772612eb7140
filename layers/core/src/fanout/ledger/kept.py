"""The ledger as one task saw it when it first read: one listing of the run, and its documents fetched side by side."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from fanout.facts.units import MIB
from fanout.model.errors import ListingIncomplete, NotFound
from fanout.ports.store import WorkStore

# docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html: keys of a page. A run with more is not kept.
_PAGE = 1_000
# Chosen: documents of a run of some hundred thousand entries. With more, each is read when it is needed.
_DOCUMENTS = 64
_READS_IN_FLIGHT = 16
# Chosen: what a task has written itself is held for the next step of its walk, up to so many bytes in all.
_HELD_BYTES = 16 * MIB


class KeptStore:
    """A ``WorkStore`` that asks once for what lies below ``prefix``, and keeps the documents that it has read.

    For a task that reads what others have written before it, and that nobody writes during it. Its own writes show, and
    are held: a function that walks through several states reads in one what it wrote in another.
    Where the run has more than a page of keys, or cannot be listed whole, it reads and lists as its store does.
    """

    def __init__(self, store: WorkStore, prefix: str) -> None:
        self._store, self._prefix = store, prefix
        self._names: list[str] | None = None
        self._documents: dict[str, bytes] = {}
        self._has_looked = False
        self._lock = threading.Lock()
        self._room = _HELD_BYTES

    def put(self, key: str, data: bytes) -> None:
        self._writes(key)
        self._store.put(key, data)
        self._wrote(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        self._writes(key)
        is_new = self._store.put_new(key, data)
        if is_new:
            self._wrote(key, data)
        return is_new

    def get(self, key: str) -> bytes:
        self._look(key)
        held = self._documents.get(key)
        if held is not None:
            return held
        if self._names is not None and key.startswith(self._prefix) and not self._holds(self._names, key):
            raise NotFound(key)
        return self._store.get(key)

    def list(self, prefix: str) -> Iterator[str]:
        self._look(prefix)
        if self._names is None or not prefix.startswith(self._prefix):
            return self._store.list(prefix)
        first = bisect_left(self._names, prefix)
        return iter([key for key in self._names[first:] if key.startswith(prefix)])

    def remove(self, keys: Sequence[str]) -> None:
        self._store.remove(keys)
        with self._lock:
            for key in keys:
                self._documents.pop(key, None)
            if self._names is not None:
                removed = frozenset(keys)
                self._names = [key for key in self._names if key not in removed]

    def _look(self, key: str) -> None:
        """List the run and fetch its documents, before the first answer about it."""
        if self._has_looked or not key.startswith(self._prefix):
            return
        self._has_looked = True
        try:
            names = list(islice(self._store.list(self._prefix), _PAGE))
        except ListingIncomplete:  # some stores list a part of a run in order, and not the whole of it
            return
        if len(names) == _PAGE:
            return
        self._names = sorted(names)
        documents = [key for key in names if key.endswith(".json")]
        if len(documents) <= _DOCUMENTS:
            with ThreadPoolExecutor(_READS_IN_FLIGHT, thread_name_prefix="ledger") as pool:
                found = zip(documents, pool.map(self._find, documents), strict=True)
                self._documents = {key: data for key, data in found if data is not None}

    def _find(self, key: str) -> bytes | None:
        try:
            return self._store.get(key)
        except NotFound:  # it expired since it was listed: who needs it asks again, and says so
            return None

    def _writes(self, key: str) -> None:
        """Until it is written only the store says what the key holds: a write may fail half-way."""
        with self._lock:
            self._documents.pop(key, None)
            if self._names is not None and key.startswith(self._prefix) and not self._holds(self._names, key):
                insort(self._names, key)

    def _wrote(self, key: str, data: bytes) -> None:
        with self._lock:
            if key.startswith(self._prefix) and len(data) <= self._room:
                self._room -= len(data)
                self._documents[key] = data

    @staticmethod
    def _holds(names: Sequence[str], key: str) -> bool:
        at = bisect_left(names, key)
        return at < len(names) and names[at] == key
