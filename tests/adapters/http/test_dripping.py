"""An answer that never stops to come, a byte at a time: the exchange ends by its own time, as each byte is progress."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from fanout.adapters.http.curl import ConnectionBroken, Timeouts
from fanout.adapters.http.transport import Transport
from fanout.work.progress import shown

DRIPS = {
    "status": (b"HTTP/1.1 200 ", b"O"),
    "headers": (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "informed": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@contextmanager
def dripping(first: bytes, drop: bytes, every_seconds: float) -> Iterator[str]:
    """A server that sends drop after drop until its client goes."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(first)
            while True:
                connection.sendall(drop)
                time.sleep(every_seconds)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread.join()


@pytest.mark.parametrize("part", DRIPS)
def test_what_drips_too_slowly_to_be_slow_ends_by_the_time_of_all(part: str) -> None:
    before = shown()
    with dripping(*DRIPS[part], every_seconds=0.02) as url, pytest.raises(ConnectionBroken):
        Transport(Timeouts(1, 60, 2)).ask("GET", url, {}, None)
    assert shown() != before, "so the watch of the function would wait for it for ever"


@pytest.mark.parametrize("part", ["headers", "body"])
def test_what_drips_a_byte_a_minute_has_stalled(part: str) -> None:
    with dripping(*DRIPS[part], every_seconds=3.0) as url, pytest.raises(ConnectionBroken):
        Transport(Timeouts(1, 1, 600)).ask("GET", url, {}, None)
