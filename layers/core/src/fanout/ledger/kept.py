"""The ledger as one task saw it when it first read: one listing of the run, and its documents fetched side by side.

What the task writes goes to the store in an order that a loss at any moment leaves whole, and as much of it side by
side as that order allows:

| what is written                                | when it is sent                                                 |
|------------------------------------------------|-----------------------------------------------------------------|
| rows (``.jsonl.gz``), which records name;      | it waits, and is sent before all that is neither                |
| notes, which no attempt after a record repeats;|                                                                 |
| what must be there where shards.json is        |                                                                 |
| what says something alone (``_SAID_ALONE``)    | it waits, and is sent side by side with what comes next         |
| all else, and what lies outside of the run     | at once, after the rows that wait; the caller waits for it      |
| the summary, which names all of it             | at once, after all that waits                                   |

What could not be sent goes on waiting: the error may be of a write that its caller can do without. A step ends with all
of it sent (``settle``). A step that is lost has written a part of it, as one that is lost earlier.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

from fanout.facts.units import MIB
from fanout.ledger import keys as names
from fanout.model.errors import ListingIncomplete, NotFound
from fanout.ports.store import WorkStore

T = TypeVar("T")
# docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html: keys of a page. A run with more is not kept.
_PAGE = 1_000
# Chosen: documents of a run of some hundred thousand entries. With more, each is read when it is needed.
_DOCUMENTS = 64
_READS_IN_FLIGHT = 16
# Chosen: what a task has written itself is held for the next step of its walk, up to so many bytes in all.
_HELD_BYTES = 16 * MIB
# Chosen: bytes of writes that wait; more are sent.
_WAITING_BYTES = 4 * MIB
_WRITES_IN_FLIGHT = 16
_ROWS: Final = ".jsonl.gz"
# Sent before what is written after them.
_FIRST: Final = (names.NOTES, names.LINKS, names.BIG_FILES)
_LAST: Final = (names.SUMMARY,)
# No record of the same step tells that these are there; each state but the one that writes them comes after its end.
_SAID_ALONE: Final = (
    *(names.REQUEST, "phases/", names.EARLIER, names.FILE_SYSTEMS, names.CLOCKS, names.OWNERS, names.FENCED),
    *(names.SOURCE_FENCED, names.FORECAST, names.PACING_PLAN, names.SHARDS),
    *(names.FAILURES, names.REPORT, names.DIRECTORIES_SET, "segments/round-"),
)


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
        self._waiting: dict[str, bytes] = {}
        self._sending = threading.RLock()

    def put(self, key: str, data: bytes) -> None:
        self._writes(key)
        if self._names is not None and self._waits(key) and len(data) < _WAITING_BYTES:
            with self._lock:
                self._waiting[key] = data
                is_full = sum(map(len, self._waiting.values())) > _WAITING_BYTES
            if is_full:
                self.settle()
            return
        self._with_waiting(lambda: self._store.put(key, data), key)
        self._wrote(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        self._writes(key)
        is_new = self._with_waiting(lambda: self._store.put_new(key, data), key)
        if is_new:
            self._wrote(key, data)
        return is_new

    def settle(self) -> None:
        """Send what waits."""
        self._with_waiting(lambda: None)

    def get(self, key: str) -> bytes:
        with self._lock:
            waiting = self._waiting.get(key)
        if waiting is not None:
            return waiting
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
        self.settle()
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

    def _name(self, key: str) -> str:
        """The name of a key in the ledger of the run, or in the one inside it; empty of one that is outside."""
        return key.removeprefix(self._prefix).removeprefix(names.VERIFICATION) if key.startswith(self._prefix) else ""

    def _goes_first(self, key: str) -> bool:
        name = self._name(key)
        return bool(name) and (name.endswith(_ROWS) or name.startswith(_FIRST))

    def _waits(self, key: str) -> bool:
        return self._goes_first(key) or self._name(key).startswith(_SAID_ALONE)

    def _with_waiting(self, write: Callable[[], T], key: str = "") -> T:
        """Send what goes before this write of ``key``, and then what else waits side by side with it."""
        is_last = self._name(key).startswith(_LAST)
        with self._sending:
            with self._lock:
                waiting = dict(self._waiting)
            first = [one for one in waiting if is_last or one == key or self._goes_first(one)]
            self._send({one: waiting.pop(one) for one in first}, lambda: None)
            return self._send(waiting, write)

    def _send(self, waiting: Mapping[str, bytes], write: Callable[[], T]) -> T:
        """Send what waits, and do this write at the same time."""
        if not waiting:
            return write()
        with ThreadPoolExecutor(_WRITES_IN_FLIGHT, thread_name_prefix="ledger") as pool:
            written = pool.submit(write)
            sent = [pool.submit(self._send_one, key, data) for key, data in waiting.items()]
        for one in sent:
            one.result()
        return written.result()

    def _send_one(self, key: str, data: bytes) -> None:
        self._store.put(key, data)
        with self._lock:
            if self._waiting.get(key) is data:  # else it was written again, which waits
                del self._waiting[key]
                self._hold(key, data)

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
            self._hold(key, data)

    def _hold(self, key: str, data: bytes) -> None:
        if key.startswith(self._prefix) and len(data) <= self._room:
            self._room -= len(data)
            self._documents[key] = data

    @staticmethod
    def _holds(names: Sequence[str], key: str) -> bool:
        at = bisect_left(names, key)
        return at < len(names) and names[at] == key
