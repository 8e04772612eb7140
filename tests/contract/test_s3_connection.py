"""The HTTP of the S3 client: every form that a response can have, connections kept and lost, TLS."""

from __future__ import annotations

import datetime
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fanout.adapters.http.transport import ConnectionBroken, Response, Timeouts, Transport
from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.model.errors import InvalidRequest

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
BIG = bytes(range(256)) * 4096  # 1 MiB
TIMEOUTS = Timeouts(connect_seconds=10, stall_seconds=15, total_seconds=30)


class Server:
    """Answers the requests of each connection with what stands in its list, and then hangs up, or resets it."""

    def __init__(
        self, connections: list[list[bytes]], context: ssl.SSLContext | None = None, *, resets: bool = False
    ) -> None:
        self._resets = resets
        self.requests: list[tuple[int, bytes]] = []
        self._connections = connections
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"{'https' if context else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        for number, answers in enumerate(self._connections):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with suppress(OSError), connection:
                if self._resets:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                made = self._context.wrap_socket(connection, server_side=True) if self._context else connection
                self._answer(number, made, answers)
                made.close()

    def _answer(self, number: int, connection: socket.socket, answers: list[bytes]) -> None:
        with connection.makefile("rb") as stream:
            for answer in answers:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = stream.readline()
                    if not line:
                        return
                    head += line
                self.requests.append((number, head))
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                if length and b"unread" not in head:
                    stream.read(int(length[1]))
                connection.sendall(answer)
                if b"unread" in head:  # ends as servers do that do not want the rest
                    connection.shutdown(socket.SHUT_WR)
                    stream.read()


Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(*connections: list[bytes], context: ssl.SSLContext | None = None, resets: bool = False) -> Server:
        servers.append(Server(list(connections), context, resets=resets))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def get(transport: Transport, server: Server, target: str = "/", **headers: str) -> Response:
    return transport.ask("GET", server.origin + target, headers, None)


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 200\r\ncontent-length:4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbod\r\n1;a=b\r\ny\r\n0\r\nx-trailer: 1\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_connection_is_kept_after_a_whole_response(serve: Serve, answer: bytes) -> None:
    server, transport = serve([answer, OK]), Transport(TIMEOUTS)
    first = get(transport, server)
    assert first.body == (b"body" if b"body" in answer or b"bod" in answer else b"")
    assert get(transport, server).body == b"body"
    assert [number for number, _ in server.requests] == [0, 0]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\n\r\nbody",
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody",
        OK + b"left over",
    ],
)
def test_connection_is_not_kept_after_a_response_that_ends_it(serve: Serve, answer: bytes) -> None:
    server, transport = serve([answer], [OK]), Transport(TIMEOUTS)
    assert get(transport, server).body == b"body"
    assert get(transport, server).body == b"body"
    assert [number for number, _ in server.requests] == [0, 1]


@pytest.mark.parametrize("late", [OK, b"\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + BIG])
def test_connection_on_which_anything_came_between_two_exchanges_is_closed(serve: Serve, late: bytes) -> None:
    """An answer that comes twice would be taken for that to the next request."""
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + BIG
    server, transport = serve([first + late, OK], [OK]), Transport(TIMEOUTS)
    assert get(transport, server).body == BIG
    assert get(transport, server, "/next").body == b"body"
    assert [number for number, _ in server.requests] == [0, 1]


def test_connection_of_an_answer_that_is_refused_is_closed(serve: Serve) -> None:
    server, transport = serve([OK, OK], [OK]), Transport(TIMEOUTS)

    def refuse(response: Response) -> Response:
        raise WrongAnswer("another's")

    with pytest.raises(WrongAnswer):
        transport.begin("GET", f"{server.origin}/", {}, None).read(refuse)
    assert get(transport, server).body == b"body"
    assert [number for number, _ in server.requests] == [0, 1]


def test_head_has_no_body_whatever_its_length_says(serve: Serve) -> None:
    server, transport = serve([b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", OK]), Transport(TIMEOUTS)
    head = transport.ask("HEAD", f"{server.origin}/", {}, None)
    assert (head.body, head.total_bytes) == (b"", 99)
    assert get(transport, server).body == b"body"
    assert len({number for number, _ in server.requests}) == 1


def test_large_body_comes_whole_with_its_head_or_apart(serve: Serve) -> None:
    answer = b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-1048575/9999999\r\nContent-Length: 1048576\r\n\r\n" + BIG
    server, transport = serve([answer, answer, OK]), Transport(TIMEOUTS)
    assert get(transport, server).body == BIG
    apart = transport.begin("GET", f"{server.origin}/", {}, None, len(BIG)).read(lambda response: response)
    assert apart.body == BIG
    assert apart.total_bytes == 9999999
    assert get(transport, server).body == b"body"


def test_request_is_sent_again_where_a_kept_connection_was_ended(serve: Serve) -> None:
    server, transport = serve([OK], [OK]), Transport(TIMEOUTS)
    get(transport, server)
    assert transport.ask("PUT", f"{server.origin}/", {}, b"x" * 100_000).body == b"body"
    assert [number for number, _ in server.requests] == [0, 1]


def test_of_a_head_that_broke_off_nothing_stays(serve: Serve) -> None:
    server = serve([OK, b"HTTP/1.1 404 Not Found\r\nx-a: 1\r\nContent-Le"], [OK])
    transport = Transport(TIMEOUTS)
    get(transport, server)
    with pytest.raises(ConnectionBroken, match="closed inside a head"):
        get(transport, server)
    assert get(transport, server).headers == {"content-length": "4"}


def test_request_is_not_sent_again_where_the_connection_is_reset_inside_an_answer(serve: Serve) -> None:
    server = serve([OK, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo"], [OK], resets=True)
    transport = Transport(TIMEOUTS)
    get(transport, server)
    with pytest.raises(ConnectionBroken):
        get(transport, server)
    assert [number for number, _ in server.requests] == [0, 0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "Empty reply from server"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody", "with 1 bytes missing"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + BIG[:200_000], "with 100000 bytes missing"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nbody", "Invalid Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbod", "outstanding read data remaining"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbody\r\n", "Malformed encoding found"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "not a hex digit"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/0.9"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 12_000, "Too many response headers"),
    ],
)
def test_response_that_is_not_whole_is_an_error(serve: Serve, answer: bytes, words: str) -> None:
    server = serve([answer])
    with pytest.raises(ConnectionBroken, match=words):
        get(Transport(TIMEOUTS), server)


def test_answer_counts_that_comes_before_the_whole_request_was_read(serve: Serve) -> None:
    server = serve([b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nbody"])
    body = bytes(32 * 1024 * 1024)
    found = Transport(TIMEOUTS).ask("PUT", f"{server.origin}/", {"x-test": "unread"}, body)
    assert (found.status, found.body) == (403, b"body")


def test_silence_ends(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        origin = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionBroken, match="Operation too slow"):
            Transport(Timeouts(1, 1, 2)).ask("GET", origin, {}, None)


def test_line_break_in_a_header_is_refused(serve: Serve) -> None:
    server = serve([OK])
    for value in ("a\r\nx-other: b", "a\nb", "a\rb"):
        with pytest.raises(InvalidRequest, match="line break"):
            get(Transport(TIMEOUTS), server, **{"x-amz-meta-a": value})
    assert not server.requests


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that it signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(encoded + made.public_bytes(serialization.Encoding.PEM))
    return path


def test_tls_carries_small_and_large_bodies(serve: Serve, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    large = b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + BIG
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + BIG[:700_000]
    server = serve([OK, large, cut], context=context)
    transport = Transport(TIMEOUTS, ca_file=str(certificate))
    assert transport.ask("PUT", f"{server.origin}/", {}, BIG).body == b"body"
    assert get(transport, server).body == BIG
    with pytest.raises(ConnectionBroken, match="unexpected eof"):
        get(transport, server)
    assert {number for number, _ in server.requests} == {0}


def test_certificate_that_nobody_vouches_for_is_refused(serve: Serve, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = serve([OK], context=context)
    with pytest.raises(ConnectionBroken, match="self-signed certificate"):
        get(Transport(TIMEOUTS), server)
