"""Exchanges whose far end is the lying S3 in this process, so that the order of things is the script's.

What S3 says are bytes, doubled, cut or mixed up; they are read as libcurl reads them. That libcurl itself ends every
such connection is shown over TLS (tests/contract/test_tls_faults.py, test_s3_loop.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse, IncompleteRead
from io import BytesIO
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

from fanout.adapters.http.arriving import PIECE_BYTES
from fanout.adapters.http.curl import PARTIAL
from fanout.adapters.http.transport import ConnectionBroken, Response, Transport
from tests.adversary.lying_s3 import LyingS3
from tests.adversary.s3_words import Request

HOST = "adversary.s3"
URL = f"http://{HOST}:80"
Answer = TypeVar("Answer")


class Wire:
    """A connection: what was said on it and not yet read, and how it ended."""

    def __init__(self) -> None:
        self.said = BytesIO()
        self.ended = ""
        self.is_used = False

    @property
    def is_quiet(self) -> bool:
        """Whether another request may go over it: nothing came since the last answer."""
        return not self.ended and not self.said.getbuffer()[self.said.tell() :]

    def makefile(self, _mode: str) -> BytesIO:
        """The bytes, as ``HTTPResponse`` asks a socket for them; they outlive the response."""
        return _Kept(self.said)


class _Kept(BytesIO):
    """Bytes that go on after the response that read from them is closed."""

    def __init__(self, said: BytesIO) -> None:
        super().__init__()
        self._said = said
        for name in ("read", "readline", "readinto", "read1", "peek"):
            if hasattr(said, name):
                setattr(self, name, getattr(said, name))


class WireExchange:
    """As ``fanout.adapters.http.transport.Exchange``, over a ``Wire``."""

    def __init__(self, s3: LyingS3, kept: list[Wire], request: Request, *, fresh: bool, place: int | None) -> None:
        self._s3, self._kept, self._request, self._place = s3, kept, request, place
        self._came: tuple[Response | ConnectionBroken, bool] | None = None
        self._send(fresh=fresh)

    def _send(self, *, fresh: bool) -> None:
        wire = Wire()
        while self._kept and not fresh:
            found = self._kept.pop()
            if found.is_quiet:
                wire = found
                break
        self._wire = wire
        said = self._s3.say(self._request)
        at = wire.said.tell()
        wire.said.seek(0, 2)
        wire.said.write(said.data)
        wire.said.seek(at)
        wire.ended = said.end

    def pieces(self, holds: Callable[[Response], bool]) -> Generator[bytes]:
        """See ``Exchange.pieces``: what came before a connection broke off is handed over too."""
        came = self._come()[0]
        found = came.begun if isinstance(came, ConnectionBroken) else came
        if self._place is None or found is None or not found.body:
            return
        if not holds(Response(found.status, found.headers, b"")):
            return
        body, found.body = found.body, b""
        end = PIECE_BYTES - self._place % PIECE_BYTES
        while body:
            piece, body, end = body[:end], body[end:], PIECE_BYTES
            found.taken_bytes += len(piece)
            yield piece

    def read(self, take: Callable[[Response], Answer]) -> Answer:
        """See ``Exchange.read``."""
        came, reusable = self._come()
        if isinstance(came, ConnectionBroken):
            raise came
        answer = take(came)
        self._wire.is_used = True
        if reusable:
            self._kept.append(self._wire)
        return answer

    def _come(self) -> tuple[Response | ConnectionBroken, bool]:
        """What came, or how it broke off, and whether another request may go over the connection."""
        if self._came is None:
            wire = self._wire
            if wire.is_used and wire.ended and not wire.said.getbuffer()[wire.said.tell() :]:
                self._send(fresh=True)  # a kept connection that the server ended says nothing about the request
            try:
                self._came = self._response(self._wire)
            except ConnectionBroken as error:
                self._came = error, False
        return self._came

    def abandon(self) -> None:
        """Give up the response, and the connection with it."""

    def _response(self, wire: Wire) -> tuple[Response, bool]:
        answer = HTTPResponse(wire, method=self._request.method)  # type: ignore[arg-type]
        try:
            answer.begin()
        except (HTTPException, OSError, ValueError) as error:
            raise ConnectionBroken(f"{HOST}: {error!r}") from error
        headers = {name.lower(): _text(value) for name, value in answer.getheaders()}
        ends_by_closing = answer.length is None and not answer.chunked
        try:
            body = answer.read()
        except (HTTPException, OSError, ValueError) as error:
            begun = error.partial if isinstance(error, IncompleteRead) else b""
            raise self._cut_off(answer.status, headers, begun, repr(error)) from error
        if ends_by_closing and wire.ended != "closed":
            raise self._cut_off(answer.status, headers, body, wire.ended or "stalled")
        return Response(answer.status, headers, body), not answer.will_close

    def _cut_off(self, status: int, headers: dict[str, str], body: bytes, said: str) -> ConnectionBroken:
        begun = Response(status, headers, body) if status == PARTIAL and body else None
        return ConnectionBroken(f"{HOST}: {said}", begun=begun)


def _text(value: str) -> str:
    return value.strip().encode("latin-1").decode("utf-8", "surrogateescape")


@contextmanager
def wires(s3: LyingS3) -> Iterator[None]:
    """Let what goes to ``URL`` be answered by ``s3``."""
    begin = Transport.begin
    kept: list[Wire] = []

    def answered(
        self: Transport,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        body_bytes: int = 0,
        *,
        most_bytes: int = 0,
        slow: bool = False,
        fresh: bool = False,
        place: int | None = None,
    ) -> Any:
        parts = urlsplit(url)
        if parts.hostname != HOST:
            more = {"slow": slow, "fresh": fresh, "place": place}
            return begin(self, method, url, headers, body, body_bytes, most_bytes=most_bytes, **more)  # type: ignore[arg-type]
        target = url.removeprefix(URL)
        sent = {"host": HOST, **{name.lower(): value for name, value in headers.items()}}
        if body is not None:
            sent["content-length"] = str(len(body))
        return WireExchange(s3, kept, Request(method, target, sent, body or b""), fresh=fresh, place=place)

    with patch.object(Transport, "begin", answered):
        yield
