"""Sockets whose far end is the lying S3 in this process.

A client connects to ``wires``, so that every byte of HTTP is real, and the order of things is the script's.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fanout.adapters.s3 import connection
from tests.adversary.lying_s3 import LyingS3
from tests.adversary.s3_words import Request

HOST = "adversary.s3"
URL = f"http://{HOST}:80"


class Wire(socket.socket):
    """The client's end of a connection to the S3 in this process."""

    def __init__(self, s3: LyingS3) -> None:
        near, self._far = socket.socketpair()
        super().__init__(fileno=near.detach())
        self._far.setblocking(False)
        self._s3 = s3
        self._asked, self._said, self._ended = b"", bytearray(), ""

    def setsockopt(self, *arguments: Any) -> None:
        """Do nothing: these are options of TCP, and of waiting."""

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Take a request, and answer it once it is whole."""
        if self._ended:
            raise BrokenPipeError("the connection has ended")
        self._asked += bytes(data)
        while (request := self._request()) is not None:
            said = self._s3.say(request)
            self._said += said.data
            self._ended = self._ended or said.end
        self._pump()

    def _request(self) -> Request | None:
        head, found, rest = self._asked.partition(b"\r\n\r\n")
        if not found:
            return None
        first, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return None
        self._asked = rest[length:]
        method, target, _ = first.split(" ")
        return Request(method, target, headers, rest[:length])

    def _pump(self) -> None:
        """Have what was said arrive, as far as the kernel holds it."""
        while self._said:
            try:
                sent = self._far.send(self._said)
            except BlockingIOError:
                return
            del self._said[:sent]
        if self._ended == "closed":
            self._far.close()

    def recv(self, length: int, flags: int = 0) -> bytes:
        """What has arrived."""
        found = b""
        while len(found) < length:
            self._pump()
            try:
                piece = super().recv(length - len(found), (flags & ~socket.MSG_WAITALL) | socket.MSG_DONTWAIT)
            except BlockingIOError:
                if self._said:
                    continue
                if found:
                    break
                if self._ended == "reset":
                    raise ConnectionResetError("reset by the adversary") from None
                raise
            found += piece
            if not piece or not flags & socket.MSG_WAITALL:
                break
        return found

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """The same into a place."""
        data = self.recv(nbytes or len(buffer), flags)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """End both ends."""
        self._far.close()
        super().close()


@contextmanager
def wires(s3: LyingS3) -> Iterator[None]:
    """Let whoever connects to ``HOST`` get a wire."""
    plain = connection.open_socket

    def connect(host: str, port: int, seconds: float) -> socket.socket:
        return Wire(s3) if host == HOST else plain(host, port, seconds)

    with patch.object(connection, "open_socket", connect):
        yield
