"""A way to an S3 server that speaks TLS to the client and fails as networks and servers do."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

SLICE_BYTES = 7
LATENCY_SECONDS = 0.3
_ONE_BYTE_EVERY_SECONDS = 0.25
_END_OF_HEAD = b"\r\n\r\n"


class Fault(Enum):
    """What happens to an exchange."""

    STALL_BEFORE_THE_HEAD = "stall before the head"
    STALL_IN_THE_HEAD = "stall in the head"
    STALL_IN_THE_BODY = "stall in the body"
    STALL_OF_THE_REQUEST = "the request's body is not taken"
    TRICKLE = "a byte now and then"
    SLICES = "slices of a few bytes"
    RESET_BEFORE = "reset before the request was applied"
    RESET_AFTER = "reset after the request was applied"
    HALF_CLOSE = "half-close before the answer"
    CLOSED_A_BYTE_EARLY = "closed a byte before the end"
    LATENCY = "latency"
    GARBLED_HEAD = "garbled head"
    OF_ANOTHER_REQUEST = "the answer to another request"
    STALL_IN_THE_HANDSHAKE = "stall in the handshake"


class TlsProxy:
    """Forwards to ``upstream``, a server without TLS; each of ``faults`` strikes one exchange, in their order."""

    def __init__(self, upstream: str, context: ssl.SSLContext, faults: list[Fault] | None = None) -> None:
        self._upstream = urlsplit(upstream)
        self._context = context
        self.faults = list(faults or [])
        self.struck: list[Fault] = []
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every connection and the proxy."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda loop, context: None)  # connections that clients end are no errors
        self._keep(self._accept())
        self._loop.run_forever()
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        self._listener.setblocking(False)
        while True:
            connection, _ = await self._loop.sock_accept(self._listener)
            self.connections += 1
            self._keep(self._serve(connection))

    async def _serve(self, connection: socket.socket) -> None:
        if self.faults[:1] == [Fault.STALL_IN_THE_HANDSHAKE]:
            self.struck.append(self.faults.pop(0))
            with connection:
                await asyncio.sleep(60)
        reader = asyncio.StreamReader(loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self._loop)
        with suppress(OSError, ssl.SSLError, EOFError):
            transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._context)
            writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
            try:
                while await self._exchange(reader, writer):
                    pass
            finally:
                writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        head = await reader.readuntil(_END_OF_HEAD)
        fault = self.faults.pop(0) if self.faults else None
        if fault:
            self.struck.append(fault)
        if fault is Fault.STALL_OF_THE_REQUEST:
            await asyncio.sleep(60)
        if fault is Fault.RESET_BEFORE:
            return _reset(writer)
        body = await reader.readexactly(_length_of(head))
        if fault is Fault.OF_ANOTHER_REQUEST:
            head = head.replace(b"/right", b"/wrong", 1)
        answer = await self._ask(head, body)
        if fault is Fault.RESET_AFTER:
            return _reset(writer)
        if fault is Fault.HALF_CLOSE:
            return False
        return await _send(writer, answer, fault)

    async def _ask(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._upstream.hostname, self._upstream.port)
        try:
            writer.write(head + body)
            # Towards the client connections are kept, whatever the server behind does.
            answer = (await reader.readuntil(_END_OF_HEAD)).replace(b"Connection: close\r\n", b"")
            if not head.startswith(b"HEAD "):
                answer += await reader.readexactly(_length_of(answer))
            return answer
        finally:
            writer.close()


async def _send(writer: asyncio.StreamWriter, answer: bytes, fault: Fault | None) -> bool:
    body_at = answer.index(_END_OF_HEAD) + len(_END_OF_HEAD)
    if fault is Fault.GARBLED_HEAD:
        answer = b"\x00\x17garbled " + answer[12:]
    elif fault is Fault.LATENCY:
        await asyncio.sleep(LATENCY_SECONDS)
    stalls = {
        Fault.STALL_BEFORE_THE_HEAD: 0,
        Fault.STALL_IN_THE_HEAD: body_at // 2,
        Fault.STALL_IN_THE_BODY: body_at + (len(answer) - body_at) // 2,
    }
    if fault in stalls:
        writer.write(answer[: stalls[fault]])
        await asyncio.sleep(60)
    elif fault is Fault.CLOSED_A_BYTE_EARLY:
        writer.write(answer[:-1])
        return False
    elif fault in (Fault.SLICES, Fault.TRICKLE):
        step = SLICE_BYTES if fault is Fault.SLICES else 1
        for at in range(0, len(answer), step):
            writer.write(answer[at : at + step])
            await asyncio.sleep(_ONE_BYTE_EVERY_SECONDS if fault is Fault.TRICKLE else 0)
    else:
        writer.write(answer)
    await writer.drain()
    return True


def _length_of(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _reset(writer: asyncio.StreamWriter) -> bool:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False
