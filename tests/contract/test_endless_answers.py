"""Answers without an end, of an S3 of one's own or of a proxy: the client stops at what an answer can bring."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.aws.signed_requests import Service
from fanout.adapters.http.curl import ANSWER_BYTES
from fanout.adapters.s3.client import objects
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.requests import RetryPolicy
from fanout.facts.units import MIB
from fanout.model.errors import FanoutError, ListingIncomplete, Transient, Unreachable

ATTEMPTS = 2
PIECE = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
# The kernel's buffers of a connection, which are filled once the client reads no more.
IN_BUFFERS = 16 * MIB
# The server gives up by itself here, so that a client without a bound fails the test and does not fill the memory.
ENOUGH = 128 * MIB


class EndlessServer:
    """Answers each request with a chunked body that does not end."""

    def __init__(self, head: str) -> None:
        self.head, self.sent = head, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # the listener is shut down
            while True:
                connection, _ = self._listener.accept()
                with connection, suppress(ConnectionError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.recv(65536)
        range_of = "Content-Range: bytes 0-1048575/1048576\r\n" if self.head.startswith("206") else ""
        head = f'HTTP/1.1 {self.head}\r\nETag: "e"\r\n{range_of}Transfer-Encoding: chunked\r\n\r\n'
        connection.sendall(head.encode())
        while self.sent < ENOUGH:
            connection.sendall(PIECE)
            self.sent += len(PIECE)


def whole(s3: S3Client) -> object:
    return s3.get_object("bucket", "k")


def block(s3: S3Client) -> object:
    return s3.get_object("bucket", "k", byte_range=(0, MIB - 1))


def pieces(s3: S3Client) -> object:
    call = s3.begin_get_range("bucket", "k", (0, MIB - 1))
    sizes = [len(piece) for piece in call.pieces(lambda _: True)]
    assert sum(sizes) <= MIB + ANSWER_BYTES
    return call.result()


ASKED: dict[str, tuple[str, Callable[[S3Client], object], type[FanoutError]]] = {
    "a page": ("200 OK", lambda s3: s3.list_objects_v2("bucket"), ListingIncomplete),
    "an error": ("403 Forbidden", lambda s3: s3.list_objects_v2("bucket"), ListingIncomplete),
    "uploads": ("200 OK", lambda s3: s3.list_multipart_uploads("bucket"), Transient),
    "a deletion": ("200 OK", lambda s3: s3.delete_objects("bucket", ["k"]), Transient),
    "an object": ("200 OK", whole, Transient),
    "a block": ("206 Partial Content", block, Transient),
    "a block in pieces": ("206 Partial Content", pieces, Transient),
}


@pytest.mark.parametrize("what", ASKED)
def test_an_answer_without_an_end_is_no_answer(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "UNPACKED_BYTES", 20 * MIB)
    head, ask, expected = ASKED[what]
    server = EndlessServer(head)
    credentials = Credentials("id", "secret")
    client = S3Client(
        Endpoint("us-east-1", server.url),
        lambda: credentials,
        retry=RetryPolicy(attempts=ATTEMPTS),
        sleep=lambda _: None,
    )
    with closing(server), pytest.raises(expected, match=r"longer than [0-9,]+ bytes"):
        ask(client)
    assert server.sent <= ATTEMPTS * (20 * MIB + IN_BUFFERS)


def test_a_service_that_answers_without_an_end_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    server = EndlessServer("200 OK")
    with closing(server), pytest.raises(Unreachable, match=r"longer than 8,388,608 bytes"):
        Service("states", "us-east-1", server.url).post(
            "states:DescribeExecution", "it", "A.B", {}, lambda found: found
        )
    assert server.sent <= ANSWER_BYTES + IN_BUFFERS
