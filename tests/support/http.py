"""HTTP as bytes, for servers that must be able to break it."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True)
class Head:
    """A request without its body; names of headers are lower-case."""

    method: str
    target: str
    headers: dict[str, str]


def read_head(stream: BinaryIO) -> Head | None:
    """The next request's head; none where the connection ended."""
    line = stream.readline()
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return Head(method, target, headers)


def error_answer(head: Head, status: int, code: str, message: str = "as asked") -> bytes:
    """S3's error document."""
    body = f"<?xml version='1.0'?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    text = f"HTTP/1.1 {status} X\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return text.encode() + (b"" if head.method == "HEAD" else body)


def whole_answer(head: Head, body: bytes, upstream: http.client.HTTPConnection) -> bytes:
    """The upstream's answer to the request, as bytes."""
    upstream.putrequest(head.method, head.target, skip_host=True, skip_accept_encoding=True)
    for name, value in head.headers.items():
        upstream.putheader(name, value.encode("latin-1"))
    upstream.endheaders(body)
    answer = upstream.getresponse()
    content = answer.read()
    kept = [
        f"{name}: {value}"
        for name, value in answer.getheaders()
        if name.lower() not in ("connection", "content-length")
    ]
    length = answer.headers["Content-Length"] if head.method == "HEAD" else str(len(content))
    lines = [f"HTTP/1.1 {answer.status} X", *kept, *([f"Content-Length: {length}"] if length is not None else [])]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content
