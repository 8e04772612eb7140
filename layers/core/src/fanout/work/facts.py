"""Facts: the answers that the decisions of a task rest on, each asked once, all side by side.

A class of facts marks the methods that ask with ``asked``. ``ahead`` begins all of them; reading one waits for its
answer, or raises the error of asking. A fact that needs another one reads it. So the lines of a use case are in the
order of its contract, such as the order of its errors, and no line begins or awaits anything.

A question that must not be asked ahead is a ``cached_property``, which is asked when it is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class asked(Generic[T]):
    """Marks a method of ``Facts`` that asks something: an attribute that holds the answer."""

    def __init__(self, ask: Callable[[Any], T]) -> None:
        self.ask, self.__doc__ = ask, ask.__doc__

    @overload
    def __get__(self, facts: None, owner: type[Facts]) -> Self: ...

    @overload
    def __get__(self, facts: Facts, owner: type[Facts]) -> T: ...

    def __get__(self, facts: Facts | None, owner: type[Facts]) -> Self | T:
        return self if facts is None else facts.begun(self).result()


class Facts:
    """The facts of one task, in its one pool; ``with`` waits at the end for what is still being asked.

    Each fact has a thread of its own, so that one may wait for another; ``more`` are threads for other work.
    """

    def __init__(self, more: int = 0) -> None:
        self._all = [one for kind in type(self).__mro__ for one in vars(kind).values() if isinstance(one, asked)]
        self._pool = ThreadPoolExecutor(len(self._all) + more, thread_name_prefix="facts")
        self._begun: dict[asked[Any], Future[Any]] = {}
        self._lock = threading.RLock()  # a pool may carry out at once what it is given

    def __enter__(self) -> Self:
        self._pool.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown()

    def ahead(self) -> None:
        """Begin to ask everything that was not asked yet."""
        for one in self._all:
            self.begun(one)

    def begun(self, one: asked[T]) -> Future[T]:
        """The answer of a fact, which is asked from now on at the latest."""
        with self._lock:
            if one not in self._begun:
                self._begun[one] = self._pool.submit(one.ask, self)
            return self._begun[one]

    def meanwhile(self, work: Callable[[], T]) -> Future[T]:
        """Begin what is no question, such as a write that nothing waits for until the end."""
        return self._pool.submit(work)
