"""Every way in which TLS to S3 breaks: it ends within its time-out, as a repetition or as an error with a remedy."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.http.transport import Timeouts, Transport
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.reach import reach
from fanout.adapters.s3.client.requests import RetryPolicy
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import ObjectSource
from fanout.adapters.s3.tree import S3Tree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import FanoutError, ItemError, Transient, Unreachable
from tests.contract.conftest import new_bucket
from tests.support.certificates import Authority
from tests.support.s3_servers import KEY, S3Server
from tests.support.tls_proxy import Fault, TlsProxy

RIGHT, WRONG = bytes(range(256)) * 40, b"of another object" * 40
LARGE = bytes(range(256)) * 16 * 1024  # 4 MiB: more than the kernel holds of what is sent
TIMEOUTS = Timeouts(connect_seconds=1, stall_seconds=1, total_seconds=2)
# libcurl looks at the rate of the last five seconds.
SLACK_SECONDS = 5.0

Client = Callable[..., S3Client]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def serve(moto_server: S3Server, authority: Authority) -> Iterator[Callable[..., TlsProxy]]:
    proxies: list[TlsProxy] = []

    def start(*faults: Fault, host: str = "127.0.0.1", valid_days: int = 1) -> TlsProxy:
        proxies.append(TlsProxy(moto_server.url, authority.context(host, valid_days=valid_days), list(faults)))
        return proxies[-1]

    yield start
    for proxy in proxies:
        proxy.close()


def client_of(url: str, authority: Authority, retry: RetryPolicy | None = None) -> S3Client:
    transport = Transport(TIMEOUTS, ca_file=str(authority.file))
    endpoint = Endpoint("us-east-1", url)
    credentials = Credentials(KEY, KEY)
    return S3Client(endpoint, lambda: credentials, transport=transport, retry=retry, sleep=lambda seconds: None)


@pytest.fixture(scope="module")
def bucket(moto_server: S3Server) -> str:
    """A bucket with two objects of one size."""
    client = S3Client(Endpoint("us-east-1", moto_server.url), lambda: Credentials(KEY, KEY))
    name = new_bucket(client)
    client.put_object(name, "right", RIGHT)
    client.put_object(name, "wrong", WRONG)
    return name


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.STALL_OF_THE_REQUEST])
def test_an_object_is_read_right_or_not_at_all(
    serve: Callable[..., TlsProxy], authority: Authority, bucket: str, fault: Fault
) -> None:
    proxy = serve(fault)
    client = client_of(proxy.url, authority)
    source = ObjectSource(ObjectPlace(client, bucket, "right"), Entry("right", Kind.FILE, len(RIGHT)), 1 << 20)
    began = time.monotonic()
    try:
        assert source.read(0, len(RIGHT)) == RIGHT
    except ItemError as error:
        assert fault is Fault.OF_ANOTHER_REQUEST, error
    assert time.monotonic() - began < TIMEOUTS.total_seconds + SLACK_SECONDS
    assert proxy.struck == [fault]


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.OF_ANOTHER_REQUEST])
def test_an_object_is_written_right(
    serve: Callable[..., TlsProxy], authority: Authority, bucket: str, moto_server: S3Server, fault: Fault
) -> None:
    proxy = serve(fault)
    key = f"written {fault.value}"
    began = time.monotonic()
    client_of(proxy.url, authority).put_object(bucket, key, LARGE)
    assert time.monotonic() - began < TIMEOUTS.total_seconds + SLACK_SECONDS
    assert proxy.struck == [fault]
    plain = S3Client(Endpoint("us-east-1", moto_server.url), lambda: Credentials(KEY, KEY))
    assert plain.get_object(bucket, key).body == LARGE


@pytest.mark.parametrize("fault", [Fault.STALL_BEFORE_THE_HEAD, Fault.STALL_OF_THE_REQUEST])
def test_a_stall_that_stays_is_an_error_with_the_host(
    serve: Callable[..., TlsProxy], authority: Authority, bucket: str, fault: Fault
) -> None:
    proxy = serve(fault, fault)
    began = time.monotonic()
    with pytest.raises(Transient, match=f"127.0.0.1:{proxy.port}"):
        client_of(proxy.url, authority, RetryPolicy(attempts=2)).put_object(bucket, "stalled", LARGE)
    assert time.monotonic() - began < 2 * TIMEOUTS.total_seconds + SLACK_SECONDS


def test_a_connection_that_stalls_in_a_block_costs_only_the_rest(
    serve: Callable[..., TlsProxy], authority: Authority, bucket: str
) -> None:
    proxy = serve(Fault.STALL_IN_THE_BODY)
    client = client_of(proxy.url, authority)
    client.put_object(bucket, "large", LARGE)
    proxy.faults = [Fault.STALL_IN_THE_BODY]
    source = ObjectSource(ObjectPlace(client, bucket, "large"), Entry("large", Kind.FILE, len(LARGE)), 1 << 20)
    began = time.monotonic()
    assert source.read(0, 1 << 20) == LARGE[: 1 << 20]
    assert time.monotonic() - began < TIMEOUTS.total_seconds + SLACK_SECONDS


@pytest.mark.parametrize("fault", [Fault.GARBLED_HEAD, Fault.CLOSED_A_BYTE_EARLY])
@pytest.mark.parametrize("whole_bytes", [1 << 20, 1], ids=["whole", "in ranges"])
def test_the_repetition_goes_over_a_new_connection(
    serve: Callable[..., TlsProxy], authority: Authority, bucket: str, fault: Fault, whole_bytes: int
) -> None:
    """What made one connection stall may have made all kept ones stall, and each would cost its time-out."""
    proxy = serve(Fault.LATENCY, Fault.LATENCY)
    client = client_of(proxy.url, authority)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda key: client.get_object(bucket, key), ["right", "wrong"]))
    assert proxy.connections == 2
    proxy.faults = [fault]
    source = ObjectSource(ObjectPlace(client, bucket, "right"), Entry("right", Kind.FILE, len(RIGHT)), whole_bytes)
    assert source.read(0, len(RIGHT)) == RIGHT
    assert proxy.connections == 3


def unreachable(call: Callable[[], object], *words: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable) as raised:
        call()
    assert time.monotonic() - began < 10
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [({"host": "localhost"}, "127.0.0.1"), ({"valid_days": -2}, "expired"), ({}, "unable to get local issuer")],
    ids=["of another host", "expired", "of an unknown authority"],
)
def test_a_certificate_that_does_not_fit_ends_it_at_once(
    serve: Callable[..., TlsProxy],
    authority: Authority,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    certificate: dict[str, object],
    reason: str,
) -> None:
    proxy = serve(**certificate)
    trusted = authority if certificate else Authority(tmp_path, "another")
    client = client_of(proxy.url, trusted)
    unreachable(lambda: client.get_object(bucket, "right"), f"127.0.0.1:{proxy.port}", reason, "AWS_CA_BUNDLE")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(trusted.file))
    unreachable(lambda: S3Tree(client, bucket, "").check(writing=False), reason, "AWS_CA_BUNDLE")


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_authority_comes_from_the_environment(
    serve: Callable[..., TlsProxy],
    authority: Authority,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    proxy = serve()
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    monkeypatch.setenv(variable, str(authority.file))
    assert reach(Endpoint("us-east-1", proxy.url), bucket) < 5


def test_a_file_of_authorities_that_is_not_there_is_named(
    serve: Callable[..., TlsProxy], bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    unreachable(lambda: reach(Endpoint("us-east-1", serve().url), bucket), "gone.pem", "AWS_CA_BUNDLE")


class Talker:
    """Says one thing to who connects, whatever it is asked."""

    def __init__(self, said: bytes) -> None:
        self._said = said
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, suppress(OSError):
                    connection.recv(4096)
                    connection.sendall(self._said)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def talk() -> Iterator[Callable[[bytes], Talker]]:
    talkers: list[Talker] = []

    def start(said: bytes) -> Talker:
        talkers.append(Talker(said))
        return talkers[-1]

    yield start
    for talker in talkers:
        talker.close()


_PAGE = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("scheme", "said", "words"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks TLS"),
        ("https", b"SSH-2.0-OpenSSH_9\r\n", "speaks TLS"),
        ("http", b"SSH-2.0-OpenSSH_9\r\n", "HTTP/0.9"),
        ("http", _PAGE, "a page in HTML"),
    ],
)
def test_a_server_that_is_no_s3_is_unreachable(
    talk: Callable[[bytes], Talker], bucket: str, scheme: str, said: bytes, words: str
) -> None:
    server = talk(said)
    unreachable(lambda: reach(Endpoint("us-east-1", f"{scheme}://{server.address}"), bucket), server.address, words)


def test_a_proxy_that_refuses_is_named(
    talk: Callable[[bytes], Talker],
    serve: Callable[..., TlsProxy],
    authority: Authority,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = talk(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    proxy = serve()
    monkeypatch.setenv("https_proxy", f"http://{gate.address}")
    monkeypatch.delenv("no_proxy", raising=False)
    unreachable(lambda: reach(Endpoint("us-east-1", proxy.url), bucket), "403", "HTTPS_PROXY")
    unreachable(lambda: client_of(proxy.url, authority).get_object(bucket, "right"), "403", "HTTPS_PROXY")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert client_of(proxy.url, authority).get_object(bucket, "right").body == RIGHT


def test_a_forked_process_has_connections_of_its_own(
    serve: Callable[..., TlsProxy], authority: Authority, bucket: str
) -> None:
    proxy = serve()
    client = client_of(proxy.url, authority)
    assert client.get_object(bucket, "right").body == RIGHT
    child = os.fork()
    if not child:
        status = 1
        try:
            status = int(client.get_object(bucket, "wrong").body != WRONG)
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert client.get_object(bucket, "right").body == RIGHT
    assert proxy.connections == 2


def test_errors_are_ours_alone(serve: Callable[..., TlsProxy], authority: Authority, bucket: str) -> None:
    proxy = serve(*[Fault.GARBLED_HEAD] * 5)
    with pytest.raises(FanoutError, match=f"127.0.0.1:{proxy.port}"):
        client_of(proxy.url, authority).get_object(bucket, "right")
