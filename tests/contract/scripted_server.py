"""A server that answers by script, faults among the answers."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import BinaryIO

RESET = b"reset"
STALL = b"stall"


def answer(status: int, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """An HTTP answer; ``length`` promises more bytes than come."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def error(status: int, code: str, *headers: str) -> bytes:
    return answer(status, f"<?xml version='1.0'?>\n<Error><Code>{code}</Code></Error>".encode(), *headers)


TRUNCATED = answer(200, b"bo", length=4)


class Cut(bytes):
    """An answer after which the connection is closed."""


class ScriptedServer:
    """Answers each request with the next line of its script, one connection after another."""

    def __init__(self) -> None:
        self.script: list[bytes] = []
        self.requests: list[bytes] = []
        self.bodies: list[bytes] = []
        self._connection: socket.socket | None = None
        self._closing = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing = True
        if self._connection:
            with suppress(OSError):  # closed already
                self._connection.shutdown(socket.SHUT_RDWR)
        socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._closing:
            self._connection, _ = self._listener.accept()
            with self._connection, suppress(ConnectionResetError):  # a client need not read all that is sent
                self._answer(self._connection)

    def _answer(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while head := _read_head(stream):
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                self.bodies.append(stream.read(int(lengths[0].split(b":")[1]) if lengths else 0))
                self.requests.append(head)
                step = self.script.pop(0)
                if step == RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                if step == STALL:
                    stream.read(1)
                    return
                connection.sendall(step)
                if step == TRUNCATED or isinstance(step, Cut):
                    return


def _read_head(stream: BinaryIO) -> bytes:
    lines = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line)
    return b"".join(lines)
