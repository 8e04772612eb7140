"""The ledger as one task saw it when it first read: one listing of the run, and its documents fetched side by side.

The documents come while the task goes on; a read waits for its own document alone. A plan that is
asked for first is fetched while the run is listed.

What the task writes goes to the store in an order that a loss at any moment leaves whole, and as much of it side by
side as that order allows: see ``write_order``. What could not be sent goes on waiting: the error may be of a write that
its caller can do without. A step that is lost has written a part of it, as one that is lost earlier.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Final, TypeVar

from fanout.facts.units import MIB
from fanout.ledger.keys import PLAN
from fanout.ledger.write_order import waits, waves_of
from fanout.model.errors import FanoutError, ListingIncomplete, NotFound, Transient
from fanout.ports.store import WorkStore

T = TypeVar("T")
# docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html: keys of a page. A run with more is not kept.
_PAGE = 1_000
# Chosen: documents of a run of some hundred thousand entries. With more, each is read when it is needed.
_DOCUMENTS = 64
_READS_IN_FLIGHT = 32
# Chosen: what a task has written itself is held for the next step of its walk, up to so many bytes in all.
_HELD_BYTES = 16 * MIB
# Chosen: bytes of writes that wait; more are sent.
_WAITING_BYTES = 4 * MIB
_WRITES_IN_FLIGHT = 16
_DOCUMENT: Final = ".json"


class KeptStore:
    """A ``WorkStore`` that asks once for what lies below ``prefix``, and keeps the documents that it has read.

    For a task that reads what others have written before it. Its own writes show, and are held: a function that walks
    through several states reads in one what it wrote in another. What another attempt at the same task writes meanwhile
    does not show, so whatever decides between attempts is asked of ``plain``.
    Where the run has more than a page of keys, or cannot be listed whole, it reads and lists as its store does.
    """

    def __init__(self, store: WorkStore, prefix: str) -> None:
        self._store, self._prefix = store, prefix
        self._lock = threading.Lock()
        self._beginning = threading.RLock()
        self._listing: Future[None] | None = None
        self._names: list[str] | None = None
        self._reading: dict[str, Future[bytes | None]] = {}
        self._held: dict[str, bytes] = {}
        self._room = _HELD_BYTES
        self._waiting: dict[str, bytes] = {}
        self._new: set[str] = set()
        self._sending = threading.RLock()
        self._meanwhile: Future[None] | None = None
        # How often all that waited was sent at once.
        self.settled = 0

    def __reduce__(self) -> tuple[Callable[[WorkStore], WorkStore], tuple[WorkStore]]:
        """For another process of the function: the store itself, without what is kept or waits."""
        return _itself, (self._store,)

    def put(self, key: str, data: bytes) -> None:
        self._writes(key)
        if self._has_let_wait(key, data):
            return
        self._with_waiting(lambda: self._store.put(key, data), key)
        self._wrote(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``. Where one that waits finds another's, what sends it raises ``Transient``."""
        is_unknown = self._names is not None and not self._holds(self._names, key)
        self._writes(key)
        if is_unknown:
            self._new.add(key)  # first: what waits may be sent at any moment
            if self._has_let_wait(key, data):
                return True
            self._new.discard(key)
        is_new = self._with_waiting(lambda: self._store.put_new(key, data), key)
        if is_new:
            self._wrote(key, data)
        return is_new

    def _has_let_wait(self, key: str, data: bytes) -> bool:
        if not self._waits(key) or len(data) >= _WAITING_BYTES:
            return False
        with self._lock:
            self._waiting[key] = data
            is_full = sum(map(len, self._waiting.values())) > _WAITING_BYTES
        if is_full:
            self.settle()
        return True

    @property
    def plain(self) -> WorkStore:
        """The store itself, for what another attempt may write meanwhile. Own writes that wait are not there yet."""
        return self._store

    def settle(self) -> None:
        """Send what waits."""
        self._with_waiting(lambda: None)
        self.settled += 1

    def settle_meanwhile(self) -> None:
        """Begin to send what waits. The next write that does not wait, or ``settle``, comes after it."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._meanwhile = pool.submit(self._send_all, lambda: None)
        pool.shutdown(wait=False)

    def get(self, key: str) -> bytes:
        with self._lock:
            known = self._waiting.get(key)
            known = self._held.get(key) if known is None else known
        if known is not None:
            return known
        if not key.startswith(self._prefix):
            return self._store.get(key)
        self.look_ahead(key)
        if key not in self._reading:
            found = self._listed()
            if found is not None and not self._holds(found, key):
                raise NotFound(key)
        reading = self._reading.get(key)
        data = None if reading is None else reading.result()
        return self._store.get(key) if data is None else data

    def list(self, prefix: str) -> Iterator[str]:
        if not prefix.startswith(self._prefix):
            return self._store.list(prefix)
        self.look_ahead()
        found = self._listed()
        if found is None:
            self.settle()
            return self._store.list(prefix)
        first = bisect_left(found, prefix)
        return iter([key for key in found[first:] if key.startswith(prefix)])

    def remove(self, keys: Sequence[str]) -> None:
        self.settle()
        for key in keys:
            self._writes(key)
        self._store.remove(keys)
        with self._lock:
            if self._names is not None:
                removed = frozenset(keys)
                self._names = [key for key in self._names if key not in removed]

    def look_ahead(self, key: str = "") -> None:
        """Begin to list the run, then to fetch its documents; the plan during the listing, if ``key`` is its key."""
        with self._beginning:
            if self._listing is not None:
                return
            pool = ThreadPoolExecutor(_READS_IN_FLIGHT, thread_name_prefix="ledger")
            if key == self._prefix + PLAN:
                self._reading[key] = pool.submit(self._find, key)
            self._listing = pool.submit(self._look, pool)

    def look_again(self) -> None:
        """Begin to list the run once more: what is read from now on is what this listing shows, own writes included.

        Documents that the first one led to are not fetched again.
        """
        with suppress(FanoutError):  # of a listing that does not count
            self._listed()
        with self._beginning:
            pool = ThreadPoolExecutor(_READS_IN_FLIGHT, thread_name_prefix="ledger")
            self._listing = pool.submit(self._look, pool)

    def _look(self, pool: ThreadPoolExecutor) -> None:
        found: list[str] = []
        is_whole = False
        try:
            found = list(islice(self._store.list(self._prefix), _PAGE))
            is_whole = len(found) < _PAGE
        except (ListingIncomplete, Transient):
            # Some stores list a part of a run in order, and not the whole of it. Then each key is asked for.
            return
        finally:
            with self._lock:
                if is_whole:
                    self._names = sorted({*found, *(key for key in self._waiting if key.startswith(self._prefix))})
                    self._fetch([key for key in found if key.endswith(_DOCUMENT)], pool)
                else:
                    self._names = None
                    self._reading.clear()
            pool.shutdown(wait=False)

    def _fetch(self, documents: Sequence[str], pool: ThreadPoolExecutor) -> None:
        if len(documents) <= _DOCUMENTS:
            for key in documents:
                if key not in self._reading and key not in self._waiting and key not in self._held:
                    self._reading[key] = pool.submit(self._find, key)

    def _listed(self) -> Sequence[str] | None:
        """The keys of the run, once the listing that was begun has come; ``None`` where they are not kept."""
        if self._listing is not None:
            self._listing.result()
        return self._names

    def _waits(self, key: str) -> bool:
        if self._listing is not None and self._listing.done() and self._names is None:
            return False
        return waits(key)

    def _with_waiting(self, write: Callable[[], T], key: str = "") -> T:
        """Send what waits, and do this write of ``key`` in its wave, or in the last one that there is."""
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            with suppress(FanoutError):  # what could not be sent goes on waiting
                meanwhile.result()
        return self._send_all(write, key)

    def _send_all(self, write: Callable[[], T], key: str = "") -> T:
        with self._sending:
            with self._lock:
                waiting = dict(self._waiting)
            *waves, last = waves_of(waiting, key)
            for wave in waves:
                self._send({one: waiting[one] for one in wave}, lambda: None)
            return self._send({one: waiting[one] for one in last}, write)

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
        if key not in self._new:
            self._store.put(key, data)
        elif not self._store.put_new(key, data) and self._store.get(key) != data:  # else an answer was lost
            raise Transient(f"{key} was written by another attempt")
        self._new.discard(key)
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
        self._listed()
        with self._lock:
            self._held.pop(key, None)
            self._reading.pop(key, None)
            self._add(key)

    def _wrote(self, key: str, data: bytes) -> None:
        with self._lock:
            self._add(key)
            self._hold(key, data)

    def _add(self, key: str) -> None:
        if self._names is not None and key.startswith(self._prefix) and not self._holds(self._names, key):
            insort(self._names, key)

    def _hold(self, key: str, data: bytes) -> None:
        if key.startswith(self._prefix) and len(data) <= self._room:
            self._room -= len(data)
            self._held[key] = data

    @staticmethod
    def _holds(names: Sequence[str], key: str) -> bool:
        at = bisect_left(names, key)
        return at < len(names) and names[at] == key


def _itself(store: WorkStore) -> WorkStore:
    return store
