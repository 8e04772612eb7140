"""One HTTP/1.1 connection: a request is sent, its response received, each in as few system calls as it takes."""

from __future__ import annotations

import random
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

# S3's own headers take about 1 KB, and a user's metadata at most 2 KB.
_HEAD_BYTES_MOST = 64 * 1024
# Received at once where it is not known how much comes: a head, and a small object with it.
_RECEIVE_BYTES = 32 * 1024
# A body of this size is received straight into its place, and not behind its head.
_APART_BYTES = 128 * 1024
# The status of a response that is a part of an object.
PARTIAL = 206
# The most that is received by one call, because a length is what a server says.
_RECEIVE_BYTES_MOST = 64 * 1024 * 1024
_END_OF_HEAD = b"\r\n\r\n"
# What OpenSSL calls an answer in another protocol.
_NO_TLS = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")


class ConnectionBroken(Exception):
    """The exchange ended without a whole response: refused, reset, truncated, stalled.

    ``unanswered`` tells that not one byte of a response came, and that nothing was waited for. ``remedy`` says what
    to change where repeating cannot help.
    """

    def __init__(self, message: str, *, unanswered: bool = False, remedy: str = "") -> None:
        super().__init__(message)
        self.unanswered = unanswered
        self.remedy = remedy


class Timeouts(NamedTuple):
    """When an exchange is given up: no connection, no byte for a while, or no end."""

    connect_seconds: float = 5
    stall_seconds: int = 30
    total_seconds: float = 600


class Received(NamedTuple):
    """A response; names of headers are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    """A connection to one origin, used by one exchange at a time.

    ``reusable`` says whether another exchange may follow; where not, it is to be closed.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, timeouts: Timeouts) -> None:
        """Connect. Raises ``ConnectionBroken``."""
        self._timeouts = timeouts
        self._is_plain = context is None
        self._cut_off = False
        self.reusable = False
        self.used_at = 0.0
        self._socket = _connected(host, port, context, timeouts)
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)

    def is_quiet(self) -> bool:
        """Whether nothing came since the last response; what came would be taken for the next one. Does not wait."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return False
        return not self._readable.poll(0)

    def close(self) -> None:
        """End the connection; never raises."""
        self._socket.close()

    def send(self, head: bytes, body: bytes) -> None:
        """Send a request. A server that hangs up before it has all of it may have answered.

        Raises ``ConnectionBroken`` where it takes no more bytes.
        """
        self.reusable = False
        deadline = self._deadline()
        try:
            if len(body) <= _RECEIVE_BYTES:
                self._send_all(head + body if body else head, deadline)
            else:
                self._send_all(head, deadline)
                self._send_all(body, deadline)
        except ConnectionError:
            self._cut_off = True
        except OSError as exc:
            raise ConnectionBroken(f"sending: {_reason(exc)}") from exc

    def _send_all(self, data: bytes, deadline: float) -> None:
        if self._is_plain:
            self._socket.sendall(data)
            return
        at = 0
        with memoryview(data) as left:
            while at < len(data):
                at += self._socket.send(left[at:])  # a TLS record
                if time.monotonic() > deadline:
                    raise ConnectionBroken(f"not ended after {self._timeouts.total_seconds} s")

    def receive(self, *, has_body: bool, body_bytes: int = 0) -> Received:
        """The response to what was sent; ``body_bytes`` is about what is expected.

        Raises ``ConnectionBroken`` where no whole one comes.
        """
        deadline = self._deadline()
        return self._whole(self._begun(deadline, body_bytes), deadline, has_body=has_body)

    def receive_begin(self, body_bytes: int) -> tuple[Received, int]:
        """The same of a part of an object, with the beginning of its body alone, and how much is still to come.

        That is received by ``receive_more``. Any other response comes whole.
        """
        deadline = self._deadline()
        begun = self._begun(deadline, body_bytes)
        length = _number(begun.headers.get("content-length", "0"))
        if begun.status == PARTIAL and len(begun.body) < length:
            return begun, length - len(begun.body)
        return self._whole(begun, deadline, has_body=True), 0

    def receive_more(self, length: int, begun: bytes) -> bytes:
        """So many bytes of a body, the first of which have been received. Raises ``ConnectionBroken``."""
        return self._exactly(length, begun, self._deadline())

    def _deadline(self) -> float:
        return time.monotonic() + self._timeouts.total_seconds

    def _begun(self, deadline: float, body_bytes: int) -> Received:
        """A response with what came of its body together with its head."""
        head, rest = self._head(deadline, body_bytes)
        while head.startswith(b"HTTP/1.1 1"):  # 100 Continue and the like, which nobody asked for
            head, rest = self._head(deadline, 0, rest)
        if not head.startswith(b"HTTP/1.") or not head[9:12].isdigit():
            raise ConnectionBroken(f"no HTTP response: {head[:40]!r}")
        status = int(head[9:12])
        lines = [line.partition(":") for line in head.decode("utf-8", "surrogateescape").split("\r\n")[1:]]
        headers = {name.lower(): value.strip() for name, _, value in lines}
        self.reusable = head[7:8] == b"1" and headers.get("connection", "").lower() != "close" and not self._cut_off
        return Received(status, headers, rest)

    def _whole(self, begun: Received, deadline: float, *, has_body: bool) -> Received:
        status, headers, rest = begun
        if not has_body or status in (204, 304):
            length = 0
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            return Received(status, headers, b"".join(self._chunks(rest, deadline)))
        elif "content-length" in headers:
            length = _number(headers["content-length"])
        else:
            self.reusable = False
            return Received(status, headers, b"".join(self._until_closed(rest, deadline)))
        if len(rest) > length:
            self.reusable = False  # what follows belongs to no request
            rest = rest[:length]
        return Received(status, headers, rest if len(rest) == length else self._exactly(length, rest, deadline))

    def _head(self, deadline: float, body_bytes: int, data: bytes = b"") -> tuple[bytes, bytes]:
        """The next head without its end, and what came behind it."""
        if body_bytes >= _APART_BYTES and self._is_plain and not data:
            seen = self._some(_RECEIVE_BYTES, deadline, socket.MSG_PEEK, first=True)
            end = seen.find(_END_OF_HEAD)
            if end >= 0:
                return self._exactly(end + len(_END_OF_HEAD), b"", deadline)[:end], b""
        while (end := data.find(_END_OF_HEAD)) < 0:
            more = self._some(_RECEIVE_BYTES, deadline, first=not data)
            if not more:
                said = f"closed before the end of a head: {data[:40]!r}" if data else "closed before a response"
                raise ConnectionBroken(said, unanswered=not data)
            data += more
            if len(data) > _HEAD_BYTES_MOST and _END_OF_HEAD not in data:
                raise ConnectionBroken(f"no end of a head in {len(data)} bytes")
        return data[:end], data[end + len(_END_OF_HEAD) :]

    def _some(self, most_bytes: int, deadline: float, flags: int = 0, *, first: bool = False) -> bytes:
        """What there is to receive, ``first`` if nothing came before it; empty at the end of the connection."""
        try:
            data = self._socket.recv(most_bytes, flags)
        except OSError as exc:
            # Waiting that came to its end says nothing about what the server did; a connection that is gone does.
            unanswered = first and isinstance(exc, ConnectionError)
            raise ConnectionBroken(f"receiving: {_reason(exc)}", unanswered=unanswered) from exc
        if time.monotonic() > deadline:
            raise ConnectionBroken(f"not ended after {self._timeouts.total_seconds} s")
        return data

    def _exactly(self, length: int, begun: bytes, deadline: float) -> bytes:
        """So many bytes, the first of which are there already."""
        if not self._is_plain and length - len(begun) > _RECEIVE_BYTES:
            return self._filled(length, begun, deadline)
        blocks, left = [begun] if begun else [], length - len(begun)
        flags = socket.MSG_WAITALL if self._is_plain else 0
        while left:
            block = self._some(min(left, _RECEIVE_BYTES_MOST), deadline, flags)
            if not block:
                raise ConnectionBroken(f"closed {left} bytes before the end of {length}")
            blocks.append(block)
            left -= len(block)
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def _filled(self, length: int, begun: bytes, deadline: float) -> bytes:
        """The same where bytes come in pieces of a TLS record."""
        buffer = bytearray(min(length, _RECEIVE_BYTES_MOST))
        buffer[: len(begun)] = begun
        at = len(begun)
        while at < length:
            if at == len(buffer):
                buffer.extend(bytes(min(length - at, _RECEIVE_BYTES_MOST)))
            with memoryview(buffer) as view:
                try:
                    count = self._socket.recv_into(view[at:])
                except OSError as exc:
                    raise ConnectionBroken(f"receiving: {_reason(exc)}") from exc
            if not count:
                raise ConnectionBroken(f"closed {length - at} bytes before the end of {length}")
            at += count
            if time.monotonic() > deadline:
                raise ConnectionBroken(f"not ended after {self._timeouts.total_seconds} s")
        return bytes(buffer)

    def _chunks(self, data: bytes, deadline: float) -> Iterator[bytes]:
        """The parts of a body that says its length part by part; what trails it is dropped."""
        while True:
            line, data = self._line(data, deadline)
            size = _number(line.partition(b";")[0].strip().decode("latin-1"), base=16)
            if not size:
                break
            block = data if len(data) >= size + 2 else self._exactly(size + 2, data, deadline)
            if block[size : size + 2] != b"\r\n":
                raise ConnectionBroken("a chunk without an end")
            yield block[:size]
            data = block[size + 2 :]
        while line:
            line, data = self._line(data, deadline)
        self.reusable = self.reusable and not data

    def _line(self, data: bytes, deadline: float) -> tuple[bytes, bytes]:
        while b"\r\n" not in data:
            more = self._some(_RECEIVE_BYTES, deadline)
            if not more or len(data) > _HEAD_BYTES_MOST:
                raise ConnectionBroken("closed inside a chunked body")
            data += more
        line, _, rest = data.partition(b"\r\n")
        return line, rest

    def _until_closed(self, data: bytes, deadline: float) -> Iterator[bytes]:
        while data:
            yield data
            data = self._some(_RECEIVE_BYTES, deadline)


def _connected(host: str, port: int, context: ssl.SSLContext | None, timeouts: Timeouts) -> socket.socket:
    try:
        plain = open_socket(host, port, timeouts.connect_seconds)
        try:
            plain.settimeout(timeouts.connect_seconds)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                made = context.wrap_socket(plain, server_hostname=host)
                # Python's own time-out: OpenSSL repeats what the kernel's would end, for ever.
                made.settimeout(timeouts.stall_seconds)
                return made
            # The kernel's time-outs, because for one of Python's every call is preceded by a poll.
            stall = struct.pack("@ll", timeouts.stall_seconds, 0)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, stall)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, stall)
            plain.settimeout(None)
        except OSError:
            plain.close()
            raise
    except OSError as exc:
        raise ConnectionBroken(str(exc), remedy=_remedy(exc)) from exc
    return plain


def open_socket(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to one of the host's addresses, in so many seconds in all. Raises ``OSError``.

    S3 has eight, and where none can be reached each would take its time: so each attempt begins with another.
    """
    deadline = time.monotonic() + seconds
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    random.shuffle(addresses)
    problem: OSError = TimeoutError(f"no connection within {seconds:g} s")
    for family, kind, protocol, _, address in addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(left)
            made.connect(address)
        except OSError as error:
            made.close()
            problem = error if not isinstance(error, TimeoutError) else problem
        else:
            return made
    raise problem


def _remedy(error: OSError) -> str:
    """What to change where no repetition helps; empty for what may pass."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "name the host as its certificate does, and the file of its authority's certificates in AWS_CA_BUNDLE"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "name an address that speaks TLS"
    return ""


def _reason(error: OSError) -> str:
    if isinstance(error, (BlockingIOError, TimeoutError)):
        return "not a byte went for too long"
    return str(error)


def _number(text: str, base: int = 10) -> int:
    try:
        found = int(text, base)
    except ValueError:
        found = -1
    if found < 0:
        raise ConnectionBroken(f"{text!r} is no length")
    return found
