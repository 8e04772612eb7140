"""A work store that counts the requests of each task, and those that wait for one another."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from fanout.ledger import run_places
from tests.support.memory_store import MemoryStore


class CountedStore(MemoryStore):
    """Counts requests by their task and kind; ``task`` is the one at work.

    ``in_series`` is how many requests of a task come one after the other. What a pool is given is asked side by side:
    it comes after what its giver had asked, and before what the task's own thread asks next or after the pool's end.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.requests: dict[str, Counter[str]] = {}
        self.in_series: Counter[str] = Counter()
        self._own = threading.get_ident()
        self._here = threading.local()
        self._task = ""
        submit, shutdown = ThreadPoolExecutor.submit, ThreadPoolExecutor.shutdown

        def counted(pool: ThreadPoolExecutor, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
            return submit(pool, self._after, self._depth(), work, *given, **named)

        def ended(pool: ThreadPoolExecutor, *given: Any, **named: Any) -> None:
            shutdown(pool, *given, **named)
            if threading.get_ident() == self._own:
                self._here.depth = self._deepest

        monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
        monkeypatch.setattr(ThreadPoolExecutor, "shutdown", ended)

    def begin(self, task: str) -> None:
        """A task begins."""
        self._task = task
        self.requests.setdefault(task, Counter())
        self._deepest = self._here.depth = 0

    def _after(self, depth: int, work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        self._here.depth = depth
        return work(*given, **named)

    def _depth(self) -> int:
        """How many requests one after the other came before what is asked here."""
        depth: int = self._here.depth
        return depth

    def _count(self, kind: str, key: str) -> None:
        if key.startswith(run_places.SEALS):  # of the tests' runs: the event of a deployed function says it
            return
        is_own = threading.get_ident() == self._own
        depth = 1 + (self._deepest if is_own else self._depth())
        self._here.depth = depth
        with self._lock:
            self._deepest = max(self._deepest, depth)
            self.requests[self._task][f"{kind} {key}"] += 1
            self.in_series[self._task] = max(self.in_series[self._task], self._deepest)

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
