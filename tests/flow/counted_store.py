"""A work store that counts the requests of each task, and those that wait for one another."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from fanout.ledger import run_places
from fanout.ports.store import Versioned
from tests.support.memory_store import MemoryStore


class CountedStore(MemoryStore):
    """Counts requests by their task and kind; ``task`` is the one at work.

    ``in_series`` is how many requests of a task come one after the other. What a pool is given comes after what its
    giver had waited for; who waits for a result, or for the end of a pool, goes on after what that asked.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.requests: dict[str, Counter[str]] = {}
        self.in_series: Counter[str] = Counter()
        self._here = threading.local()
        self._task = ""
        self._depths: WeakKeyDictionary[object, int] = WeakKeyDictionary()
        submit, shutdown, result = ThreadPoolExecutor.submit, ThreadPoolExecutor.shutdown, Future.result

        def submitted(pool: ThreadPoolExecutor, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
            depth, known = self._depth(), threading.Event()
            futures: list[Future[Any]] = []

            def counted() -> Any:
                self._here.depth = depth
                try:
                    return work(*given, **named)
                finally:
                    known.wait()
                    for one in (futures[0], pool):
                        self._reach(one, self._depth())

            futures.append(submit(pool, counted))
            known.set()
            return futures[0]

        def ended(pool: ThreadPoolExecutor, wait: bool = True, **named: Any) -> None:
            shutdown(pool, wait, **named)
            if wait:
                self._wait_for(pool)

        def waited(future: Future[Any], timeout: float | None = None) -> Any:
            try:
                return result(future, timeout)
            finally:
                self._wait_for(future)

        monkeypatch.setattr(ThreadPoolExecutor, "submit", submitted)
        monkeypatch.setattr(ThreadPoolExecutor, "shutdown", ended)
        monkeypatch.setattr(Future, "result", waited)

    def begin(self, task: str) -> None:
        """A task begins."""
        self._task = task
        self.requests.setdefault(task, Counter())
        self._here.depth = 0

    def _depth(self) -> int:
        """How many requests one after the other came before what is asked here."""
        return getattr(self._here, "depth", 0)

    def _reach(self, what: object, depth: int) -> None:
        with self._lock:
            self._depths[what] = max(depth, self._depths.get(what, 0))

    def _wait_for(self, what: object) -> None:
        self._here.depth = max(self._depth(), self._depths.get(what, 0))

    def _count(self, kind: str, key: str) -> None:
        if key.startswith(run_places.SEALS):  # of the tests' runs: the event of a deployed function says it
            return
        if getattr(self._here, "writes", False):  # one request, whatever the memory does for it
            return
        self._here.depth = self._depth() + 1
        with self._lock:
            self.requests[self._task][f"{kind} {key}"] += 1
            self.in_series[self._task] = max(self.in_series[self._task], self._depth())

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.store.WorkStore``."""
        self._count("PUT", key)
        super().put(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        self._count("PUT", key)
        with self._lock:
            is_new = key not in self._objects
            if is_new:
                super().put(key, data)
            return is_new

    def get(self, key: str) -> bytes:
        """See ``ports.store.WorkStore``."""
        self._count("GET", key)
        return super().get(key)

    def read_version(self, key: str) -> Versioned:
        """See ``ports.store.VersionedStore``."""
        self._count("GET", key)
        return super().read_version(key)

    def write_version(self, key: str, data: bytes, version: str) -> None:
        """See ``ports.store.VersionedStore``; one request."""
        self._count("PUT", key)
        self._here.writes = True
        try:
            super().write_version(key, data, version)
        finally:
            self._here.writes = False

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.store.WorkStore``; a request a thousand keys."""
        for number, key in enumerate(super().list(prefix)):
            if number % 1_000 == 0:
                self._count("LIST", prefix)
            yield key
        if not any(True for _ in super().list(prefix)):
            self._count("LIST", prefix)

    def remove(self, keys: Sequence[str]) -> None:
        """See ``ports.store.WorkStore``."""
        self._count("DELETE", keys[0])
        super().remove(keys)
