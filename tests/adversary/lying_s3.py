"""The S3 between client and server that lies: each lie a line of ``LIES``.

A client connects to ``wires``: sockets whose far end is this process, so that every byte of HTTP is real, and the
order of things is the script's.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from tests.adversary.conductor import Conductor
from tests.adversary.s3_words import Answer, Request, Stored, error, object_answer
from tests.adversary.script import Fault
from tests.adversary.strict_s3 import StrictS3

HOST = "adversary.s3"
URL = f"http://{HOST}:80"
WRITES = frozenset({"PutObject", "CopyObject", "UploadPart", "UploadPartCopy", "DeleteObjects", "DeleteObject"})
_HTML = Answer(200, {"Content-Type": "text/html"}, b"<html><body><h1>Please sign in</h1></body></html>")


@dataclass
class Said:
    """What goes over the wire: bytes, and how the connection ends after them, if it does."""

    data: bytes
    end: str = ""  # closed, reset


@dataclass
class Teller:
    """What a lie may use: the request, the truth, what was answered and stored before, and a number of the script's."""

    request: Request
    serve: Callable[[], Answer]
    before: list[tuple[Request, Answer]]
    older: list[Stored]
    seed: int
    pick: list[Answer] = field(default_factory=list)


Lie = Callable[[Teller], Said]


def _instead(answer: Answer, *, applied: bool = False) -> Lie:
    def lie(teller: Teller) -> Said:
        if applied:
            teller.serve()
        head = teller.request.method == "HEAD"
        return Said((replace(answer, body=b"", length=len(answer.body)) if head else answer).to_bytes())

    return lie


def _doubled(teller: Teller) -> Said:
    return Said(teller.serve().to_bytes() * 2)


def _stray(teller: Teller) -> Said:
    """The answer, and behind it that of another request of this kind, as of a proxy that mixes connections up."""
    others = _others(teller)
    return Said(teller.serve().to_bytes() + (others[teller.seed % len(others)].to_bytes() if others else b""))


def _swapped(teller: Teller) -> Said:
    """Of a request that only reads: the answer to another one of its kind."""
    others = _others(teller)
    if not others:
        return Said(teller.serve().to_bytes())
    return Said(others[teller.seed % len(others)].to_bytes())


def _others(teller: Teller) -> list[Answer]:
    mine = teller.request
    return [
        answer
        for request, answer in teller.before
        if request.operation == mine.operation and request.target != mine.target and answer.status < 300
    ]


def _cut(teller: Teller) -> Said:
    data = teller.serve().to_bytes()
    return Said(data[: max(1, len(data) - 1 - teller.seed % 40)], "closed")


def _wrong_range(teller: Teller) -> Said:
    """Bytes of another range of the object, and no word that they are."""
    request = teller.request
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
    if asked is None:
        return Said(teller.serve().to_bytes())
    first, last = int(asked[1]), int(asked[2])
    shift = -(first // 2) if first else 7
    moved = replace(request, headers={**request.headers, "range": f"bytes={first + shift}-{last + shift}"})
    teller.request = moved
    return Said(teller.serve().to_bytes())


def _whole_for_range(teller: Teller) -> Said:
    request = teller.request
    teller.request = replace(request, headers={k: v for k, v in request.headers.items() if k != "range"})
    return Said(teller.serve().to_bytes())


def _repeated_page(teller: Teller) -> Said:
    """The page before the one that was asked for."""
    teller.request = replace(teller.request, target=re.sub(r"continuation-token=[^&]*&?", "", teller.request.target))
    return Said(teller.serve().to_bytes())


def _skipped_page(teller: Teller) -> Said:
    """The page after the one that was asked for."""
    answer = teller.serve()
    token = re.search(rb"<NextContinuationToken>([^<]*)<", answer.body)
    if teller.request.operation != "ListObjectsV2" or token is None:
        return Said(answer.to_bytes())
    from urllib.parse import quote

    plain = re.sub(r"continuation-token=[^&]*&?", "", teller.request.target)
    teller.request = replace(teller.request, target=f"{plain}&continuation-token={quote(token[1].decode(), safe='')}")
    return Said(teller.serve().to_bytes())


def _without(element: str) -> Lie:
    def lie(teller: Teller) -> Said:
        answer = teller.serve()
        body = re.sub(rf"<{element}>[^<]*</{element}>".encode(), b"", answer.body)
        return Said(replace(answer, body=body, length=len(body) if answer.length is None else answer.length).to_bytes())

    return lie


def _stale(teller: Teller) -> Said:
    """An earlier state of the object, as a cache without a thought for conditions gives it."""
    if not teller.older or teller.request.operation not in ("GetObject", "HeadObject"):
        return Said(teller.serve().to_bytes())
    headers = {name: value for name, value in teller.request.headers.items() if name != "if-match"}
    found = object_answer(replace(teller.request, headers=headers), teller.older[teller.seed % len(teller.older)])
    if teller.request.method == "HEAD":
        found = replace(found, body=b"", length=len(found.body))
    return Said(found.to_bytes())


def _end(end: str, *, applied: bool) -> Lie:
    def lie(teller: Teller) -> Said:
        if applied:
            teller.serve()
        return Said(b"", end)

    return lie


LIES: dict[str, Lie] = {
    "S3: 500": _instead(error(500, "InternalError")),
    "S3: 500, applied": _instead(error(500, "InternalError"), applied=True),
    "S3: 503": _instead(error(503, "SlowDown")),
    "S3: error inside 200": _instead(error(200, "InternalError")),
    "S3: error inside 200, applied": _instead(error(200, "InternalError"), applied=True),
    "S3: HTML inside 200": _instead(_HTML),
    "S3: nothing inside 200": _instead(Answer(200)),
    "S3: doubled answer": _doubled,
    "S3: stray answer": _stray,
    "S3: another's answer": _swapped,
    "S3: cut answer": _cut,
    "S3: wrong range": _wrong_range,
    "S3: whole object for a range": _whole_for_range,
    "S3: repeated page": _repeated_page,
    "S3: skipped page": _skipped_page,
    "S3: no IsTruncated": _without("IsTruncated"),
    "S3: no ETag": _without("ETag"),
    "S3: stale read": _stale,
    "S3: reset before": _end("reset", applied=False),
    "S3: reset after": _end("reset", applied=True),
    "S3: closed before": _end("closed", applied=False),
    "S3: closed after": _end("closed", applied=True),
}


class LyingS3:
    """Answers as ``StrictS3`` does, unless the conductor has a lie for the request."""

    def __init__(self, truth: StrictS3, conductor: Conductor, trusted: str) -> None:
        """``trusted`` is the bucket of which no answer is swapped: nothing in a ledger says what it should hold."""
        self.truth, self._conductor, self._trusted = truth, conductor, trusted
        self._before: list[tuple[Request, Answer]] = []
        self.older: dict[tuple[str, str], list[Stored]] = {}

    def say(self, request: Request) -> Said:
        """What the client hears."""
        passed = self._conductor.before(f"s3:{request.operation}", lambda: "/".join(request.path))
        lie = self._lie(request, passed[1] if passed else [])
        if lie is None:
            said = Said(self._served(request).to_bytes())
        else:
            older = self.older.get(request.path, [])
            teller = Teller(request, lambda: self._served(teller.request), self._before, older, lie.seed)
            truth = len(self._before)
            said = LIES[lie.what](teller)
            honest = len(self._before) > truth and self._before[-1][1].to_bytes() == said.data and not said.end
            if not honest:
                self._conductor.told[lie.what] += 1
        self._conductor.after(passed)
        return said

    def _lie(self, request: Request, due: list[Fault]) -> Fault | None:
        for fault in due:
            if fault.what not in LIES:
                continue
            mixes = fault.what in ("S3: another's answer", "S3: stray answer", "S3: doubled answer", "S3: stale read")
            if mixes and request.path[0] == self._trusted:
                continue
            if fault.what == "S3: another's answer" and request.method not in ("GET", "HEAD"):
                continue
            return fault
        return None

    def _served(self, request: Request) -> Answer:
        path = request.path
        there = self.truth.buckets.get(path[0], {}).get(path[1])
        answer = self.truth.answer(request)
        if there is not None and self.truth.buckets[path[0]].get(path[1]) is not there:
            self.older.setdefault(path, []).append(there)
        self._before = [*self._before[-30:], (request, answer)]
        return answer


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
    plain = socket.create_connection

    def connect(address: tuple[str, int], *arguments: Any, **more: Any) -> socket.socket:
        return Wire(s3) if address[0] == HOST else plain(address, *arguments, **more)

    with patch.object(socket, "create_connection", connect):
        yield
