"""Moves the bytes of all exchanges of this process in a single thread, by libcurl's multi interface."""

from __future__ import annotations

import os
import select
import socket
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from fanout.adapters.http.curl import Handle
from fanout.adapters.http.libcurl import pycurl
from fanout.work.progress import NETWORK, moved

# Chosen: connections that are kept; there are no more exchanges under way than tuning.ENTRIES_UNDER_WAY and threads.
_CONNECTIONS_KEPT = 512
# Chosen: how long nothing is looked at where libcurl names no time.
_LOOK_SECONDS = 1.0
_EVENTS_AT_ONCE = 64
_WANTED = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
Connection = tuple[object, ...]


class _Socket:
    """A descriptor, and what tells whether anything came on it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        look = select.poll()
        look.register(descriptor, select.POLLIN)
        self.poll = look.poll


class Loop:
    """Sends requests and receives responses in its own thread, which lives while any exchange is under way.

    An exchange continues while the thread that began it waits for a slow file system, so libcurl's timeouts measure
    only the server. All connections belong to one ``CurlMulti``, which reads the authorities once, and which one
    thread at a time turns.
    """

    def __init__(self) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, _CONNECTIONS_KEPT)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._bell, select.EPOLLIN)
        self._sleeps = False
        self._asked: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._under_way: dict[Any, Handle] = {}
        # The sockets of open connections. A reused descriptor removes its former connection.
        self._sockets: dict[Connection, _Socket] = {}
        self._connections: dict[int, Connection] = {}
        self._ended: list[tuple[Handle, tuple[int, str] | None]] = []
        self._lock = threading.Lock()
        self._lives = False
        self._stopped: BaseException | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing can be begun here any more."""
        return self._stopped is not None

    def begin(self, handle: Handle) -> None:
        """Perform the exchange that the handle is prepared for; ``Handle.response`` waits for its end."""
        self._ask(self._add, handle)

    def give_up(self, handle: Handle) -> None:
        """End what is left of an exchange, and its connection with it; the handle is closed."""
        self._ask(self._drop, handle)

    def refuse(self, connection: Connection) -> None:
        """End a connection whose response was wrong, and with it what else is sent over it by now."""
        self._ask(self._cut, connection)

    def _ask(self, do: Callable[[Any], None], what: Handle | Connection) -> None:
        with self._lock:
            self._asked.append((do, what))
            begins, self._lives = not self._lives, True
        if begins:
            self._start()
        elif self._sleeps:
            self._sleeps = False
            os.eventfd_write(self._bell, 1)

    def _start(self) -> None:
        try:
            start_new_thread(self._run, ())  # unlike threading's, it is not waited for until it runs
        except RuntimeError as error:  # there are too many
            self._fail_all(error)

    def _run(self) -> None:
        try:
            while self._stopped is None and self._goes_on():
                self._turn()
        except BaseException as error:  # noqa: BLE001 - fails every exchange, so that no caller waits for ever
            self._stopped = error
        if self._stopped is not None:
            self._fail_all(self._stopped)

    def _goes_on(self) -> bool:
        """Whether anything is to do; let those who wait know what has ended, after libcurl was given all its work."""
        lives = True
        ended, self._ended = self._ended, []
        if not self._asked and not self._under_way:
            with self._lock:  # once it lives no more, another thread may begin at any moment, and all is that one's
                lives = self._lives = bool(self._asked)
        for handle, error in ended:
            handle.end(error)
        return lives

    def _turn(self) -> None:
        while self._asked:
            do, what = self._asked.popleft()
            do(what)
        self._sleeps = True
        seconds = 0.0 if self._asked else self._wait_seconds()
        events = self._epoll.poll(seconds, _EVENTS_AT_ONCE)
        self._sleeps = False
        if events:
            moved(NETWORK)
        for descriptor, event in events:
            if descriptor == self._bell:
                os.eventfd_read(self._bell)
            elif descriptor in self._watched:
                self._multi.socket_action(descriptor, _happened(event))
        if not self._multi.timeout():
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._end_those_that_ended()

    def _wait_seconds(self) -> float:
        milliseconds = self._multi.timeout()
        return _LOOK_SECONDS if milliseconds < 0 else min(_LOOK_SECONDS, milliseconds / 1000)

    def _add(self, handle: Handle) -> None:
        if handle.loop is not self:
            handle.loop = self
            handle.curl.setopt(pycurl.PREREQFUNCTION, partial(self._may_send, handle))
        self._under_way[handle.curl] = handle
        self._multi.add_handle(handle.curl)

    def _drop(self, handle: Handle) -> None:
        if self._under_way.pop(handle.curl, None) is not None:
            self._multi.remove_handle(handle.curl)
        handle.curl.close()

    def _end_those_that_ended(self) -> None:
        queued = 1
        while queued:
            queued, whole, failed = self._multi.info_read()
            for curl in whole:
                self._end(curl, None)
            for curl, code, text in failed:
                self._end(curl, (code, text))

    def _end(self, curl: Any, error: tuple[int, str] | None) -> None:
        handle = self._under_way[curl]
        if error is None and curl.getinfo(pycurl.NUM_CONNECTS):
            self._note(handle.connection, curl.getinfo(pycurl.ACTIVESOCKET))
        self._multi.remove_handle(curl)
        if error is not None and not handle.is_fresh and (handle.is_held_back or handle.is_cut_off(error[0])):
            # A kept connection that ended, or that cannot be trusted, says nothing about the request.
            handle.is_held_back = False
            handle.connect_anew(True)
            self._multi.add_handle(curl)
            return
        del self._under_way[curl]
        self._ended.append((handle, error))

    def _may_send(self, handle: Handle, *connection: object) -> Any:
        """Checks a connection before a request uses it: a kept one must be quiet since its last response.

        Without this, libcurl would take stray bytes for the answer to this request.
        """
        handle.connection = connection
        if handle.is_fresh or connection not in self._sockets:
            return pycurl.PREREQFUNC_OK
        if not self._sockets[connection].poll(0):
            return pycurl.PREREQFUNC_OK
        self._forget(connection)
        handle.is_held_back = True
        return pycurl.PREREQFUNC_ABORT

    def _note(self, connection: Connection, descriptor: int) -> None:
        if descriptor >= 0:
            self._forget(self._connections.get(descriptor, ()))
            self._forget(connection)
            self._sockets[connection], self._connections[descriptor] = _Socket(descriptor), connection

    def _forget(self, connection: Connection) -> None:
        known = self._sockets.pop(connection, None)
        if known is not None:
            self._connections.pop(known.descriptor, None)

    def _cut(self, connection: Connection) -> None:
        if connection not in self._sockets:
            return
        with suppress(OSError), socket.socket(fileno=os.dup(self._sockets[connection].descriptor)) as found:
            here, there = found.getsockname(), found.getpeername()
            if connection == (there[0], here[0], there[1], here[1]):  # libcurl may have closed it, and others opened
                found.shutdown(socket.SHUT_RDWR)

    def _watch(self, what: int, descriptor: int, _multi: object, _data: object) -> None:
        """Look at a descriptor for libcurl. None of a kept connection stays here."""
        if what == pycurl.POLL_REMOVE:
            if descriptor in self._watched:
                self._watched.discard(descriptor)
                self._epoll.unregister(descriptor)
        elif descriptor in self._watched:
            self._epoll.modify(descriptor, _WANTED.get(what, 0))
        else:
            self._watched.add(descriptor)
            self._epoll.register(descriptor, _WANTED.get(what, 0))

    def _fail_all(self, reason: BaseException) -> None:
        self._stopped = reason
        with self._lock:
            left = {*self._under_way.values(), *(handle for handle, _ in self._ended)}
            left |= {what for do, what in self._asked if do == self._add}
            self._under_way, self._ended = {}, []
            self._asked.clear()
            self._lives = False
        for handle in left:
            handle.end((pycurl.E_FAILED_INIT, f"the thread of all connections stopped: {reason!r}"))


def _happened(event: int) -> int:
    found = 0
    if event & (select.EPOLLIN | select.EPOLLHUP):
        found |= pycurl.CSELECT_IN
    if event & select.EPOLLOUT:
        found |= pycurl.CSELECT_OUT
    if event & select.EPOLLERR:
        found |= pycurl.CSELECT_ERR
    return int(found)
