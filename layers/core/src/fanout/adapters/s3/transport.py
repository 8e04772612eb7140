"""One HTTP exchange over curl: a handle a thread, its connection kept, no wait without an end."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import pycurl

BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """When an exchange is given up: no connection, no byte for a while, or no end."""

    connect_seconds: int = 5
    stall_seconds: int = 30
    total_seconds: int = 600


@dataclass(frozen=True, slots=True)
class Response:
    """What the server said; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def total_bytes(self) -> int:
        """The size of the whole object, of which the body may be a range or nothing (HEAD)."""
        content_range = self.headers.get("content-range", "")
        total = content_range.rpartition("/")[2] or self.headers.get("content-length", "")
        return int(total) if total.isdecimal() else len(self.body)


# Headers that curl adds by itself; "Expect" would hold every large body back for a round trip.
_UNSENT = [b"Expect:", b"Accept:"]


class ConnectionBroken(Exception):
    """The exchange ended without a whole response: refused, reset, truncated, stalled."""


class CurlTransport:
    """Performs exchanges; each thread has its own curl handle and connection."""

    def __init__(self, timeouts: Timeouts | None = None, ca_file: str = "") -> None:
        self._timeouts = timeouts or Timeouts()
        self._ca_file = ca_file or ssl.get_default_verify_paths().cafile or ""
        self._local = threading.local()

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        """Send one request, once. Raises ``ConnectionBroken`` where no whole response comes back."""
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = self._local.handle = _Handle(self._timeouts, self._ca_file)
        return handle.exchange(method, url, headers, body)


class _Handle:
    """One curl handle. Options stay set from one exchange to the next, and only what differs is changed."""

    def __init__(self, timeouts: Timeouts, ca_file: str) -> None:
        self._timeouts, self._ca_file = timeouts, ca_file
        self._curl = pycurl.Curl()
        self._shape: tuple[str, bool] | None = None
        self._lines: list[bytes] = []
        self._blocks: list[bytes] = []

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Response:
        """See ``CurlTransport``."""
        curl, shape = self._curl, (method, body is not None)
        if shape != self._shape:
            self._set_options(method)
            self._shape = shape
        curl.setopt(pycurl.URL, url.encode())
        curl.setopt(pycurl.HTTPHEADER, _header_lines(headers, has_body=body is not None))
        if body is not None:
            curl.setopt(pycurl.POSTFIELDS, body)
        try:
            curl.perform()
            status: int = curl.getinfo(pycurl.RESPONSE_CODE)
            return Response(status, _parse_headers(self._lines), _joined(self._blocks))
        except pycurl.error as exc:
            raise ConnectionBroken(f"curl {exc}") from exc
        finally:
            self._lines.clear()
            self._blocks.clear()
            if body:
                curl.setopt(pycurl.POSTFIELDS, b"")  # else the handle keeps the body alive

    def _set_options(self, method: str) -> None:
        curl = self._curl
        curl.reset()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.TCP_NODELAY, 1)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.BUFFERSIZE, BUFFER_BYTES)
        curl.setopt(pycurl.CONNECTTIMEOUT, self._timeouts.connect_seconds)
        curl.setopt(pycurl.LOW_SPEED_LIMIT, 1)
        curl.setopt(pycurl.LOW_SPEED_TIME, self._timeouts.stall_seconds)
        curl.setopt(pycurl.TIMEOUT, self._timeouts.total_seconds)
        if self._ca_file:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        curl.setopt(pycurl.WRITEFUNCTION, self._blocks.append)
        curl.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        if method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        elif method != "GET":
            curl.setopt(pycurl.CUSTOMREQUEST, method)


def _joined(blocks: list[bytes]) -> bytes:
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _header_lines(headers: Mapping[str, str], *, has_body: bool) -> list[bytes]:
    # curl leaves out a header whose value is empty unless it ends in a semicolon.
    lines = [
        (f"{name}: {value}" if value else f"{name};").encode("utf-8", "surrogateescape")
        for name, value in headers.items()
    ]
    lines += _UNSENT
    if has_body and "content-type" not in headers:
        lines.append(b"Content-Type:")
    return lines


def _parse_headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in b"".join(lines).decode("utf-8", "surrogateescape").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
        elif name.startswith("HTTP/"):
            headers.clear()
    return headers
