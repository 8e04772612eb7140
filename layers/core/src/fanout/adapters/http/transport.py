"""Keep-alive HTTP; every wait has a timeout."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import TypeVar

from fanout.adapters.http.curl import ANSWER_BYTES, ConnectionBroken, Handle, Response, Timeouts
from fanout.adapters.http.loop import Loop
from fanout.work.processes.handed_over import HandedOver

__all__ = ["ConnectionBroken", "Exchange", "Response", "Timeouts", "Transport"]

Answer = TypeVar("Answer")
# The loop of each process, by process id: a forked process has no thread. It never frees an inherited loop, because
# closing a connection would end TLS on one that the parent uses.
_loops: dict[int, Loop] = {}
_inherited: list[object] = []


class Exchange:
    """A request that was sent and whose response is still to be received, once, by one thread."""

    __slots__ = ("_handle", "_idle", "_loop")

    def __init__(self, loop: Loop, handle: Handle, idle: deque[Handle]) -> None:
        self._loop, self._handle, self._idle = loop, handle, idle

    def read(self, take: Callable[[Response], Answer]) -> Answer:
        """Returns the result of ``take`` on the response. Raises ``ConnectionBroken`` for an incomplete response.

        Any failure, also in ``take``, closes the connection.
        """
        handle = self._handle
        try:
            found = take(handle.response())
        except BaseException:
            self._loop.refuse(handle.connection)
            self._loop.give_up(handle)
            raise
        handle.release()
        self._idle.append(handle)
        return found

    def pieces(self, holds: Callable[[Response], bool]) -> Generator[bytes]:
        """The body as it comes, before ``read``; see ``Handle.pieces``."""
        return self._handle.pieces(holds)

    def abandon(self) -> None:
        """Give up the response; the connection, on which it may still come, with it."""
        self._loop.give_up(self._handle)


class Transport(HandedOver):
    """Performs exchanges. Safe to share between threads; another process has connections of its own."""

    def __init__(self, timeouts: Timeouts | None = None, ca_file: str = "") -> None:
        self._timeouts = timeouts or Timeouts()
        self._ca_file = ca_file
        self._idle: deque[Handle] = deque()
        self._pid = os.getpid()

    def begin(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        body_bytes: int = 0,
        *,
        most_bytes: int = 0,
        slow: bool = False,
        fresh: bool = False,
        place: int | None = None,
    ) -> Exchange:
        """Send one request, once, and do not wait. ``Exchange.read`` raises its errors.

        ``body_bytes`` is about what the response brings, ``most_bytes`` what it may (some MiB more by default). For
        ``slow`` and ``place`` see ``Handle.prepare``; ``fresh`` takes a connection that nothing was sent over.
        """
        if self._pid != os.getpid():
            _inherited.append(self._idle)
            self._idle, self._pid = deque(), os.getpid()
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = Handle(self._timeouts, self._ca_file)
        most_bytes = most_bytes or body_bytes + ANSWER_BYTES
        handle.prepare(method, url, headers, body, body_bytes, most_bytes=most_bytes, slow=slow, place=place)
        handle.connect_anew(fresh)
        loop = _loop()
        loop.begin(handle)
        return Exchange(loop, handle, self._idle)

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        """The response to one request, sent once. Raises ``ConnectionBroken`` where no whole one comes back."""
        return self.begin(method, url, headers, body).read(lambda response: response)


def _loop() -> Loop:
    found = _loops.get(os.getpid())
    if found is None or found.is_stopped:
        found = _loops[os.getpid()] = Loop()  # two at once do no harm
    return found
