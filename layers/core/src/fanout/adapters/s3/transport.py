"""HTTP exchanges over connections that are kept, with no wait that has no end."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from fanout.adapters.s3.authorities import trusted_file
from fanout.adapters.s3.connection import Connection, ConnectionBroken, Timeouts
from fanout.domain.errors import InvalidRequest

# Chosen: a connection that was not used for so long is not used again; S3 ends idle ones after some 20 s.
IDLE_SECONDS = 8.0
Answer = TypeVar("Answer")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Response(Struct):
    """What the server said; header names are lower-case. ``left_bytes`` of the body are still to be received."""

    status: int
    headers: dict[str, str]
    body: bytes
    left_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """The size of the whole object, of which the body may be a range or nothing (HEAD)."""
        content_range = self.headers.get("content-range", "")
        total = content_range.rpartition("/")[2] or self.headers.get("content-length", "")
        return int(total) if total.isdecimal() else len(self.body)


class Exchange:
    """A request that has been sent, and whose response is still to be received."""

    __slots__ = ("_body", "_body_bytes", "_connection", "_failure", "_has_body", "_head", "_is_fresh", "_origin")

    def __init__(
        self, origin: Origin, head: bytes, body: bytes, *, has_body: bool, body_bytes: int, fresh: bool = False
    ) -> None:
        self._origin = origin
        self._head, self._body = head, body
        self._has_body, self._body_bytes = has_body, body_bytes
        self._failure: ConnectionBroken | None = None
        self._send(fresh=fresh)

    def _send(self, *, fresh: bool) -> None:
        kept = None if fresh else self._origin.kept()
        self._is_fresh = kept is None
        try:
            self._connection = kept or self._origin.connect()
            self._connection.send(self._head, self._body)
        except ConnectionBroken as exc:
            self._failure = exc

    def response(self) -> Response:
        """Receive it, once. Raises ``ConnectionBroken`` where no whole one comes.

        A kept connection that the server ended meanwhile says nothing about the request, so that one is
        sent again over a new one.
        """
        return self.read(lambda response: response)

    def read(self, take: Callable[[Response], Answer]) -> Answer:
        """The same, as ``take`` reads it; the connection of an answer that it raises for is closed."""
        return self._answer(lambda: self._received(take))

    def opened(self, hold: Callable[[Response], object]) -> OpenResponse:
        """Receive the head, once, and of a part of an object no more than that. Raises as ``read`` does."""
        return self._answer(lambda: self._begun(hold))

    def _answer(self, receive: Callable[[], Answer]) -> Answer:
        try:
            try:
                return receive()
            except ConnectionBroken as exc:
                if self._is_fresh or not exc.unanswered:
                    raise
            self._failure = None
            self._send(fresh=True)
            return receive()
        except ConnectionBroken as exc:
            raise self._named(exc) from exc

    def _named(self, error: ConnectionBroken) -> ConnectionBroken:
        return ConnectionBroken(f"{self._origin.name}: {error}", unanswered=error.unanswered, remedy=error.remedy)

    def _received(self, take: Callable[[Response], Answer]) -> Answer:
        if self._failure is not None:
            raise self._failure
        connection = self._connection
        try:
            received = connection.receive(has_body=self._has_body, body_bytes=self._body_bytes)
            answer = take(Response(*received))
        except BaseException:
            connection.close()
            raise
        self._origin.keep(connection)
        return answer

    def _begun(self, hold: Callable[[Response], object]) -> OpenResponse:
        if self._failure is not None:
            raise self._failure
        try:
            begun, left_bytes = self._connection.receive_begin(self._body_bytes)
            response = Response(*begun, left_bytes)
            hold(response)
        except BaseException:
            self._connection.close()
            raise
        return OpenResponse(response, self._connection, self._origin)

    def abandon(self) -> None:
        """Give up the response; the connection, on which it may still come, with it."""
        if self._failure is None:
            self._connection.close()


class OpenResponse:
    """A response whose body is received piece by piece; ``response`` holds the beginning of it, or all."""

    def __init__(self, response: Response, connection: Connection, origin: Origin) -> None:
        self.response = response
        self._begun, self._left_bytes = response.body, response.left_bytes
        self._connection, self._origin = connection, origin
        self._is_open = True
        if not response.left_bytes:
            self._let_go()

    def read(self, length: int) -> bytes:
        """The next bytes; fewer than asked for only at the end. Raises ``ConnectionBroken``."""
        begun, self._begun = self._begun[:length], self._begun[length:]
        more = min(length - len(begun), self._left_bytes)
        if not more:
            return begun
        try:
            piece = self._connection.receive_more(len(begun) + more, begun)
        except BaseException:
            self.close()
            raise
        self._left_bytes -= more
        if not self._left_bytes:
            self._let_go()
        return piece

    def _let_go(self) -> None:
        self._is_open = False
        self._origin.keep(self._connection)

    def close(self) -> None:
        """Give up what is left; the connection, on which it may still come, with it."""
        if self._is_open:
            self._is_open = False
            self._connection.close()


class Origin:
    """The connections to one scheme, host and port that wait for their next exchange.

    A process that was made from this one begins with none: two would read each other's answers.
    """

    def __init__(self, host: str, port: int, context: Callable[[], ssl.SSLContext] | None, timeouts: Timeouts) -> None:
        self._host, self._port = host, port
        self._context = context
        self._timeouts = timeouts
        self._idle: deque[Connection] = deque()  # the last used is the next used, so that the others grow old
        self._pid = os.getpid()

    def connect(self) -> Connection:
        """A new connection. Raises ``ConnectionBroken``."""
        return Connection(self._host, self._port, self._context() if self._context else None, self._timeouts)

    @property
    def name(self) -> str:
        """Host and port."""
        return f"{self._host}:{self._port}"

    def kept(self) -> Connection | None:
        """A connection that was used a moment ago and on which nothing came since, if there is one."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._idle.clear()
        while True:
            try:
                found = self._idle.pop()
            except IndexError:
                return None
            if time.monotonic() - found.used_at >= IDLE_SECONDS:
                break
            if found.is_quiet():
                return found
            found.close()
        found.close()
        while self._idle:  # the others were used before it
            try:
                self._idle.pop().close()
            except IndexError:
                break
        return None

    def keep(self, connection: Connection) -> None:
        """Take back a connection after its exchange."""
        if not connection.reusable:
            connection.close()
            return
        connection.used_at = time.monotonic()
        self._idle.append(connection)


class Transport:
    """Performs exchanges. Safe to share between threads."""

    def __init__(self, timeouts: Timeouts | None = None, ca_file: str = "") -> None:
        self._timeouts = timeouts or Timeouts()
        self._ca_file = ca_file
        self._origins: dict[str, Origin] = {}
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None

    def begin(
        self,
        origin: str,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        body_bytes: int = 0,
        *,
        fresh: bool = False,
    ) -> Exchange:
        """Send one request, once. ``origin`` is a scheme, host and port, ``target`` the path and query as encoded.

        What goes wrong shows when the response is asked for; raises only ``InvalidRequest``, for a value that no
        header can have. ``body_bytes`` is about what comes. ``fresh`` takes a connection that nothing was sent over.
        """
        place = self._origins.get(origin) or self._origin(origin)
        length = "" if body is None else f"content-length: {len(body)}\r\n"
        lines = "".join([f"{name}: {value}\r\n" if value else f"{name}:\r\n" for name, value in headers.items()])
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            raise InvalidRequest("header", "a value holds a line break", "write it in one line")
        host = origin.partition("//")[2]
        head = f"{method} {target} HTTP/1.1\r\nhost: {host}\r\n{lines}{length}\r\n"
        encoded = head.encode("utf-8", "surrogateescape")
        return Exchange(place, encoded, body or b"", has_body=method != "HEAD", body_bytes=body_bytes, fresh=fresh)

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        """Send one request, once. Raises ``ConnectionBroken`` where no whole response comes back."""
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        return self.begin(f"{scheme}://{host}", method, f"/{path}", headers, body).response()

    def _origin(self, origin: str) -> Origin:
        parts = urlsplit(origin)
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        with self._lock:
            context = self._tls if parts.scheme == "https" else None
            return self._origins.setdefault(origin, Origin(parts.hostname or "", port, context, self._timeouts))

    def _tls(self) -> ssl.SSLContext:
        with self._lock:  # reading the authorities takes milliseconds, so one thread does it for all
            if self._context is None:
                self._context = self._loaded()
            return self._context

    def _loaded(self) -> ssl.SSLContext:
        trusted = self._ca_file or trusted_file()
        try:
            context = ssl.create_default_context(cafile=trusted or None)
        except OSError as error:
            remedy = "name a file with certificates of authorities in AWS_CA_BUNDLE"
            raise ConnectionBroken(f"{trusted}: {error}", remedy=remedy) from error
        context.set_alpn_protocols(["http/1.1"])
        return context
