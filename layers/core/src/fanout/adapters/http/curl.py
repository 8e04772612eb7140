"""libcurl as this product uses it: the options of a handle, and what its response says."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Mapping
from io import BytesIO
from typing import Any, NamedTuple

from msgspec import Struct

from fanout.adapters.http.arriving import Arriving, room_for
from fanout.adapters.http.authorities import trusted_file
from fanout.adapters.http.heads import header_lines, parse_head
from fanout.adapters.http.libcurl import pycurl
from fanout.facts.units import MIB

# Chosen: a kept connection that was idle for so long is not used again; S3 ends idle ones after some 20 s.
IDLE_SECONDS = 8
# Chosen: a transfer slower than this for the stall time-out is given up; a function's 64 threads get 1 MB/s each.
_SLOWEST_BYTES_PER_SECOND = 1024
# lib/progress.c: libcurl's rate is that of the last five seconds, and shows a stall when they are over.
_RATE_SECONDS = 5
# Chosen: what libcurl receives and sends at once.
_BUFFER_BYTES = 64 * 1024
# Its least to send from, which each handle with an exchange under way has; what it receives into they share.
_SMALL_BUFFER_BYTES = 16 * 1024
# A response body of this size or more is received into one buffer, not in pieces that are joined. After sending a body
# as large, a handle keeps no reference to it.
_LARGE_BYTES = 64 * 1024
# Chosen: what a response may bring over what was asked for. A page of 1,000 keys, or of as many errors, is smaller.
ANSWER_BYTES = 8 * MIB
# The status of a response that is a part of an object.
PARTIAL = 206
# curl.se/libcurl/c/libcurl-errors.html: CURLE_PROXY, which pycurl does not name.
_E_PROXY = 97
# How a connection ends that the server closed while it was idle.
_CUT_OFF = (pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING)
# OpenSSL's messages for a peer that answers in another protocol.
_NO_TLS = ("wrong version number", "packet length too long", "record layer failure", "http request")


class Timeouts(NamedTuple):
    """When an exchange is given up: no connection (with TLS), almost no byte for a while, or no end."""

    connect_seconds: float = 5
    stall_seconds: int = 30
    total_seconds: float = 600

    @property
    def slow_seconds(self) -> int:
        """Seconds for which the rate may be too low, so that libcurl detects a stall within the stall timeout."""
        return max(1, self.stall_seconds - _RATE_SECONDS)


class Response(Struct):
    """The server's response; header names are lower-case. Of the body, ``taken_bytes`` were taken as they came."""

    status: int
    headers: dict[str, str]
    body: bytes
    taken_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """The size of the whole object, of which the body may be a range or nothing (HEAD)."""
        content_range = self.headers.get("content-range", "")
        total = content_range.rpartition("/")[2] or self.headers.get("content-length", "")
        return int(total) if total.isdecimal() else len(self.body)


class ConnectionBroken(Exception):
    """The exchange ended without a whole response: refused, reset, truncated, stalled.

    ``begun`` is a part of an object whose body broke off, with what came of it. ``remedy`` says what to change
    where repeating cannot help.
    """

    def __init__(self, message: str, *, begun: Response | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.begun = begun
        self.remedy = remedy


class AnswerTooLong(ConnectionBroken):
    """A response went past the most that an answer to its request can bring; the rest was not received."""


class Handle:
    """A libcurl handle: one exchange at a time, its options kept from one to the next.

    The thread that has it prepares it and reads its response; in between it belongs to the ``Loop``.
    """

    def __init__(self, timeouts: Timeouts, ca_file: str) -> None:
        self._lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self._whole: BytesIO | None = None
        self._arriving: Arriving | None = None
        self._method, self._url = "GET", ""
        self._most_bytes = 0
        self._holds_body = self._is_slow = self.is_fresh = self.is_held_back = False
        self._timeouts = timeouts
        self._ended = threading.Lock()
        self._error: tuple[int, str] | None = None
        # Addresses and ports of the connection's ends, once the request goes over it.
        self.connection: tuple[object, ...] = ()
        self.loop: object = None
        self.curl = curl = pycurl.Curl()
        for option, value in _options(timeouts, ca_file):
            curl.setopt(option, value)
        curl.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, self._pieces.append)

    def prepare(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        body_bytes: int,
        *,
        most_bytes: int,
        slow: bool,
        place: int | None,
    ) -> None:
        """Set the next request; ``body_bytes`` is about what the response brings, and ``most_bytes`` what it may.

        The response to a ``slow`` one may come a byte at a time, as S3 keeps a connection alive while it works.
        With ``place``, that of the body in its object, ``pieces`` hands it over as it comes.
        Raises ``InvalidRequest`` for a value that no header can have.
        """
        curl = self.curl
        curl.setopt(pycurl.HTTPHEADER, header_lines(headers, body is not None))
        curl.setopt(pycurl.URL, url)
        self._url, self._error, self.connection = url, None, ()
        self._set_method(method, body)
        most_bytes = 0 if method == "HEAD" else most_bytes  # its length is of a body that does not come
        if most_bytes != self._most_bytes:
            self._most_bytes = most_bytes
            curl.setopt(pycurl.MAXFILESIZE_LARGE, most_bytes)  # of a body without a length too, since libcurl 8.4
        if body is not None and len(body) >= _LARGE_BYTES:
            self._holds_body = True
            curl.setopt(pycurl.UPLOAD_BUFFERSIZE, _BUFFER_BYTES)
        if place is not None:
            self._arriving = Arriving(place)
            curl.setopt(pycurl.WRITEFUNCTION, self._arriving.add)
        elif body_bytes >= _LARGE_BYTES:
            self._whole = room_for(body_bytes)
            curl.setopt(pycurl.WRITEFUNCTION, self._whole.write)
        if slow:
            self._is_slow = True
            self._watch(True)
        self._ended.acquire()

    def connect_anew(self, anew: bool) -> None:
        """Whether the request goes over a new connection."""
        if anew != self.is_fresh:
            self.is_fresh = anew
            self.curl.setopt(pycurl.FRESH_CONNECT, anew)

    def end(self, error: tuple[int, str] | None) -> None:
        """Note the end of the exchange, with the code and text of its error if it failed."""
        self._error = error
        if self._arriving is not None:
            self._arriving.end()
        self._ended.release()

    def is_cut_off(self, code: int) -> bool:
        """Whether a kept connection ended before a byte of an answer. libcurl repeats what it failed to receive."""
        return code in _CUT_OFF and not self._lines and not self.curl.getinfo(pycurl.NUM_CONNECTS)

    def pieces(self, holds: Callable[[Response], bool]) -> Generator[bytes]:
        """The body as it comes, if ``holds`` accepts the head; the response brings what is not taken."""
        if self._arriving is not None:
            yield from self._arriving.take(lambda: holds(Response(*parse_head(self._lines), b"")))

    def response(self) -> Response:
        """Wait for the whole response. Raises ``ConnectionBroken`` where none comes."""
        with self._ended:
            pass
        if self._error is not None:
            raise self._broken(*self._error)
        found = self._response()
        if not found.status:  # libcurl takes a connection that ends inside a head for the end of the response
            raise self._broken(pycurl.E_PARTIAL_FILE, "closed inside a head")
        return found

    def release(self) -> None:
        """Release the buffers of the exchange."""
        self._lines.clear()
        self._pieces.clear()
        if self._whole is not None or self._arriving is not None:
            self._whole = self._arriving = None
            self.curl.setopt(pycurl.WRITEFUNCTION, self._pieces.append)
        if self._holds_body:
            self._holds_body = False
            self.curl.setopt(pycurl.POSTFIELDS, b"")
            self.curl.setopt(pycurl.UPLOAD_BUFFERSIZE, _SMALL_BUFFER_BYTES)
        if self._is_slow:
            self._is_slow = False
            self._watch(False)
        self.connect_anew(False)

    def _set_method(self, method: str, body: bytes | None) -> None:
        curl, before = self.curl, self._method
        if body is not None:
            if before == "HEAD":
                curl.setopt(pycurl.NOBODY, 0)
            curl.setopt(pycurl.POSTFIELDS, body)  # not copied, and sent again by libcurl where it must be
            curl.setopt(pycurl.CUSTOMREQUEST, method)
            self._method = ""
        elif method != before:
            curl.setopt(pycurl.HTTPGET, 1)
            curl.unsetopt(pycurl.CUSTOMREQUEST)
            if method == "HEAD":
                curl.setopt(pycurl.NOBODY, 1)
            elif method != "GET":
                curl.setopt(pycurl.CUSTOMREQUEST, method)
            self._method = method

    def _response(self) -> Response:
        status, headers = parse_head(self._lines)
        if self._whole is not None:
            self._whole.truncate()
            return Response(status, headers, self._whole.getvalue())
        if self._arriving is not None:
            return Response(status, headers, self._arriving.left(), self._arriving.taken_bytes)
        pieces = self._pieces
        return Response(status, headers, pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def _watch(self, on: bool) -> None:
        """Let any byte reset the stall timeout, in place of a rate."""
        curl = self.curl
        if on:
            self._moved = (0.0, 0.0, time.monotonic())
            curl.setopt(pycurl.XFERINFOFUNCTION, self._look)
        curl.setopt(pycurl.NOPROGRESS, not on)
        curl.setopt(pycurl.LOW_SPEED_TIME, 0 if on else self._timeouts.slow_seconds)

    def _look(self, _down_total: float, down: float, _up_total: float, up: float) -> bool:
        now = time.monotonic()
        if (down, up) != self._moved[:2]:
            self._moved = (down, up, now)
        return now - self._moved[2] > self._timeouts.stall_seconds

    def _broken(self, code: int, text: str) -> ConnectionBroken:
        if code == pycurl.E_ABORTED_BY_CALLBACK:
            text = f"not a byte for {self._timeouts.stall_seconds} s"
        host = self._url.split("/", 3)[2]
        if code == pycurl.E_FILESIZE_EXCEEDED:
            return AnswerTooLong(f"{host}: the answer is longer than {self._most_bytes:,} bytes")
        if code == pycurl.E_COULDNT_CONNECT:
            text = f"{text} ({os.strerror(int(self.curl.getinfo(pycurl.OS_ERRNO)))})"
        is_begun = self._arriving is not None or (self._whole is not None and self._whole.tell())
        found = self._response() if is_begun else None
        begun = found if found is not None and found.status == PARTIAL else None
        message = f"{host}: {text} (libcurl {code})"
        return ConnectionBroken(message, begun=begun, remedy=_remedy(code, text))


def _options(timeouts: Timeouts, ca_file: str) -> list[tuple[int, Any]]:
    options = [
        (pycurl.NOSIGNAL, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
        (pycurl.PATH_AS_IS, 1),
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.HTTP_CONTENT_DECODING, 0),
        (pycurl.CONNECTTIMEOUT_MS, int(timeouts.connect_seconds * 1000)),
        (pycurl.LOW_SPEED_LIMIT, _SLOWEST_BYTES_PER_SECOND),
        (pycurl.LOW_SPEED_TIME, timeouts.slow_seconds),
        (pycurl.TIMEOUT_MS, int(timeouts.total_seconds * 1000)),
        (pycurl.MAXAGE_CONN, IDLE_SECONDS),
        (pycurl.BUFFERSIZE, _BUFFER_BYTES),
        (pycurl.UPLOAD_BUFFERSIZE, _SMALL_BUFFER_BYTES),
    ]
    trusted = ca_file or trusted_file()
    return [*options, (pycurl.CAINFO, trusted)] if trusted else options


def _remedy(code: int, text: str) -> str:
    """The remedy for an error that a retry cannot fix; empty for a transient error."""
    if code in (pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT_BADFILE):
        return "name the host as its certificate does, and the file of its authority's certificates in AWS_CA_BUNDLE"
    if code == pycurl.E_SSL_CONNECT_ERROR and any(words in text for words in _NO_TLS):
        return "name an address that speaks TLS"
    if code in (pycurl.E_COULDNT_RESOLVE_PROXY, _E_PROXY) or text.startswith("CONNECT tunnel failed, response 4"):
        return "correct HTTPS_PROXY, have the proxy let this host through, or name the host in NO_PROXY"
    return ""
