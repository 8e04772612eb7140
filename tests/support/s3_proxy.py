"""An S3 on the loopback that fails as S3 does: a proxy before another server.

It also checks the condition on a copy's source and those on what a write replaces, some of which moto ignores.
"""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO
from urllib.parse import urlsplit

from tests.support.http import Head, error_answer, read_head, whole_answer

SLOW_DOWN = "503 SlowDown"
INTERNAL_ERROR = "500 InternalError"
SLOW_DOWN_INSIDE = "SlowDown inside a 200"
LOST_REQUEST = "reset before the request is read"
LOST_ANSWER = "reset in place of the answer"
TRUNCATED = "answer that ends early"
FAULTS = (SLOW_DOWN, INTERNAL_ERROR, SLOW_DOWN_INSIDE, LOST_REQUEST, LOST_ANSWER, TRUNCATED)

Choose = Callable[[Head], str]


def at_random(seed: int, fraction: float) -> Choose:
    """Every fault at the same chance, at ``fraction`` of the requests."""
    draw = random.Random(seed)
    return lambda head: draw.choice(FAULTS) if draw.random() < fraction else ""


class S3Proxy:
    """Forwards to ``upstream``; ``faults`` counts what went wrong.

    ``choose`` names the fault of a request: one of ``FAULTS``, a status, a code and maybe words, or nothing.
    """

    def __init__(self, upstream: str, choose: Choose = lambda head: "") -> None:
        self.choose = choose
        self.faults: Counter[str] = Counter()
        self.requests = 0
        self._upstream = urlsplit(upstream).netloc
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._closing = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every connection and the proxy."""
        self._closing = True
        socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._closing:
                connection.close()
                return
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        upstream = http.client.HTTPConnection(self._upstream, timeout=60)
        with connection, connection.makefile("rb") as stream, suppress(ConnectionError):
            while (head := read_head(stream)) is not None and self._exchange(connection, stream, head, upstream):
                pass
        upstream.close()
        self._open.discard(connection)

    def _exchange(
        self, connection: socket.socket, stream: BinaryIO, head: Head, upstream: http.client.HTTPConnection
    ) -> bool:
        """Answer one request; false if the connection ends with it."""
        with self._lock:
            self.requests += 1
            fault = self.choose(head)
            self.faults[fault] += bool(fault)
        if fault == LOST_REQUEST:
            return _reset(connection)
        body = stream.read(int(head.headers.get("content-length", "0")))
        if fault[:3].isdecimal():
            status, code, *message = fault.split(maxsplit=2)
            connection.sendall(error_answer(head, int(status), code, *message))
            return True
        if fault == SLOW_DOWN_INSIDE and "x-amz-copy-source" in head.headers:
            connection.sendall(error_answer(head, 200, "SlowDown"))
            return True
        if _source_has_changed(head, upstream) or _destination_has_changed(head, upstream):
            connection.sendall(error_answer(head, 412, "PreconditionFailed"))
            return True
        answer = self.answer(head, body, upstream, fault)
        if fault == LOST_ANSWER:
            return _reset(connection)
        if fault == TRUNCATED:
            connection.sendall(answer[:-1])
            return False
        connection.sendall(answer)
        return True

    def answer(self, head: Head, body: bytes, upstream: http.client.HTTPConnection, fault: str) -> bytes:
        """What is sent back: the upstream's answer, if the fault leaves it whole."""
        return whole_answer(head, body, upstream)


def _source_has_changed(head: Head, upstream: http.client.HTTPConnection) -> bool:
    wanted = head.headers.get("x-amz-copy-source-if-match")
    if not wanted:
        return False
    return _etag(head, f"/{head.headers['x-amz-copy-source']}", upstream) not in ("", wanted)


def _destination_has_changed(head: Head, upstream: http.client.HTTPConnection) -> bool:
    if head.method not in ("PUT", "POST") or not {"if-match", "if-none-match"} & set(head.headers):
        return False
    there = _etag(head, head.target.partition("?")[0], upstream)
    return bool(there) and there != head.headers.get("if-match")


def _etag(head: Head, path: str, upstream: http.client.HTTPConnection) -> str:
    """Of an object of a server that checks no signature; empty where there is none."""
    signed = {name: value for name, value in head.headers.items() if name in ("host", "authorization", "x-amz-date")}
    upstream.request("HEAD", path, headers=signed)
    answer = upstream.getresponse()
    answer.read()
    return answer.headers["ETag"] if answer.status == 200 else ""


def _reset(connection: socket.socket) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False
