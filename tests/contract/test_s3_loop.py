"""The one thread that moves the bytes of all exchanges: several under way, what goes on alone, how it ends."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from fanout.adapters.http import transport as transport_module
from fanout.adapters.http.loop import Loop
from fanout.adapters.http.transport import ConnectionBroken, Exchange, Response, Transport
from fanout.adapters.s3.client.answers import WrongAnswer
from tests.contract.test_s3_connection import OK, TIMEOUTS, Server, get

HUGE = bytes(32 << 20)  # more than the buffers of two sockets hold
HEAD = f"HTTP/1.1 200 OK\r\nContent-Length: {len(HUGE)}\r\n\r\n".encode()


class Noticing(Server):
    """Says when it has sent its answers."""

    def __init__(self, connections: list[list[bytes]]) -> None:
        self.all_sent = threading.Event()
        super().__init__(connections)

    def _serve(self) -> None:
        super()._serve()
        self.all_sent.set()


@pytest.fixture
def serve() -> Iterator[Callable[..., Noticing]]:
    servers: list[Noticing] = []

    def start(*connections: list[bytes]) -> Noticing:
        servers.append(Noticing(list(connections)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def begin(transport: Transport, server: Server, body_bytes: int = 0) -> Exchange:
    return transport.begin("GET", f"{server.origin}/", {}, None, body_bytes)


def as_it_is(response: Response) -> Response:
    return response


def test_an_exchange_goes_on_while_the_thread_that_began_it_is_busy(serve: Callable[..., Noticing]) -> None:
    """A thread that waits for a slow file system leaves no connection to stall."""
    server = serve([HEAD + HUGE])
    exchange = begin(Transport(TIMEOUTS), server, len(HUGE))
    assert server.all_sent.wait(10)  # this thread does not turn to the exchange meanwhile
    assert exchange.read(as_it_is).body == HUGE


def test_exchanges_of_one_thread_have_a_connection_each_and_end_in_any_order(serve: Callable[..., Noticing]) -> None:
    server, transport = serve([OK], [OK], [OK]), Transport(TIMEOUTS)
    begun = [begin(transport, server) for _ in range(3)]
    assert {exchange.read(as_it_is).body for exchange in reversed(begun)} == {b"body"}
    assert sorted(number for number, _ in server.requests) == [0, 1, 2]


def test_the_connection_of_an_exchange_that_is_given_up_is_closed(serve: Callable[..., Noticing]) -> None:
    server, transport = serve([HEAD + HUGE[:1000], OK], [OK]), Transport(TIMEOUTS)
    exchange = begin(transport, server)
    while not server.requests:
        time.sleep(0.001)
    exchange.abandon()
    assert get(transport, server).body == b"body"
    assert server.requests[-1][0] == 1


def test_a_refused_answer_closes_its_connection_at_once(serve: Callable[..., Noticing]) -> None:
    server, transport = serve([OK, OK]), Transport(TIMEOUTS)

    def refuse(response: Response) -> Response:
        raise WrongAnswer("another's")

    with pytest.raises(WrongAnswer):
        begin(transport, server).read(refuse)
    assert server.all_sent.wait(5)  # it reads the end of the connection, where no other request comes
    assert len(server.requests) == 1


def test_a_loop_that_fails_ends_what_is_under_way_and_another_takes_its_place(
    serve: Callable[..., Noticing], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, transport = serve([OK]), Transport(TIMEOUTS)
    # The thread of an earlier exchange may be in a turn that is whole.
    monkeypatch.setattr(transport_module, "_loops", {})
    with monkeypatch.context() as broken:
        broken.setattr(Loop, "_turn", lambda self: 1 / 0)
        begun = [begin(transport, server) for _ in range(3)]
        for exchange in begun:
            with pytest.raises(ConnectionBroken, match="ZeroDivisionError"):
                exchange.read(as_it_is)
    assert get(transport, server).body == b"body"


def test_between_exchanges_the_thread_ends_and_its_connections_stay(serve: Callable[..., Noticing]) -> None:
    server, transport = serve([OK, OK]), Transport(TIMEOUTS)
    before = kernel_threads()
    get(transport, server)
    until = time.monotonic() + 10
    while kernel_threads() - before and time.monotonic() < until:
        time.sleep(0.001)
    assert not kernel_threads() - before
    assert get(transport, server).body == b"body"
    assert [number for number, _ in server.requests] == [0, 0]


def kernel_threads() -> set[int]:
    """Those that the kernel knows of this process, and Python perhaps no more."""
    return {int(one) for one in os.listdir("/proc/self/task")}


class BetweenTwo:
    """A lock after whose first release another thread does something before the one that released it goes on."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._lock, self._meanwhile = threading.Lock(), [meanwhile]

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if self._meanwhile:
            self._meanwhile.pop()()


def test_a_thread_that_is_to_end_does_not_turn_beside_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exchange that begins just after the thread found nothing to do gets a thread of its own."""
    begun: list[Callable[[], None]] = []
    monkeypatch.setattr("fanout.adapters.http.loop.start_new_thread", lambda run, _: begun.append(run))
    loop = Loop()
    loop.refuse(())
    assert len(begun) == 1
    loop._turn()
    monkeypatch.setattr(loop, "_lock", BetweenTwo(lambda: loop.refuse(())))
    assert not loop._goes_on()
    assert len(begun) == 2


def test_a_silent_server_costs_other_exchanges_nothing(serve: Callable[..., Noticing]) -> None:
    server, transport = serve([OK]), Transport(TIMEOUTS)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        waiting = transport.begin("GET", f"http://127.0.0.1:{silent.getsockname()[1]}/", {}, None)
        assert get(transport, server).body == b"body"
        waiting.abandon()
