"""What a script hooks into: threads that work in order, and a store whose operations pass the conductor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from random import Random
from typing import Any

from fanout.ports.store import Versioned
from tests.adversary.conductor import Conductor


class Inline:
    """An executor that does everything at once, in the order in which it is asked to."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """As ``ThreadPoolExecutor``."""

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing is left to wait for."""

    def submit(self, work: Callable[..., Any], *arguments: Any, **more: Any) -> Future[Any]:
        """A future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **more))
        except Exception as error:  # noqa: BLE001 - a future holds any
            future.set_exception(error)
        return future

    def map(self, work: Callable[..., Any], *items: Sequence[Any]) -> Iterator[Any]:
        """The results."""
        return iter([work(*some) for some in zip(*items, strict=False)])

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Nothing is left to end."""


class AnyOrder(Inline):
    """One that does what it was asked to inside of ``with`` at the end of that, in an order that nobody can tell."""

    draw = Random(0)

    def __init__(self, *_: Any, **__: Any) -> None:
        self._asked: list[tuple[Future[Any], Callable[[], Any]]] | None = None

    def __enter__(self) -> AnyOrder:
        self._asked = []
        return self

    def __exit__(self, *_: Any) -> None:
        asked, self._asked = self._asked or [], None
        self.draw.shuffle(asked)
        for future, work in asked:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - a future holds any
                future.set_exception(error)

    def submit(self, work: Callable[..., Any], *arguments: Any, **more: Any) -> Future[Any]:
        """A future that is done when ``with`` ends, if it is used so."""
        if self._asked is None:
            return super().submit(work, *arguments, **more)
        future: Future[Any] = Future()
        self._asked.append((future, partial(work, *arguments, **more)))
        return future


class HookedStore:
    """A store of which each operation passes the conductor."""

    def __init__(self, store: Any, conductor: Conductor) -> None:
        self.plain, self._conductor = store, conductor

    def _call(self, name: str, *arguments: Any) -> Any:
        passed = self._conductor.before(f"ledger:{name}")
        result = getattr(self.plain, name)(*arguments)
        self._conductor.after(passed)
        return result

    def put(self, key: str, data: bytes) -> None:
        self._call("put", key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        return bool(self._call("put_new", key, data))

    def get(self, key: str) -> bytes:
        data: bytes = self._call("get", key)
        return data

    def list(self, prefix: str) -> Iterator[str]:
        found: Iterator[str] = self._call("list", prefix)
        return found

    def remove(self, keys: Sequence[str]) -> None:
        self._call("remove", keys)

    def read_version(self, key: str) -> Versioned:
        found: Versioned = self._call("read_version", key)
        return found

    def write_version(self, key: str, data: bytes, version: str) -> None:
        self._call("write_version", key, data, version)
