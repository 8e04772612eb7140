"""Headers as libcurl takes them, and heads as it hands them over."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.model.errors import InvalidRequest

# Headers that libcurl would add, and that are not signed.
_NOT_SENT = ["Accept:", "Expect:"]


def header_lines(headers: Mapping[str, str], has_body: bool) -> list[str] | list[bytes]:
    """The lines as libcurl wants them; it takes an empty value for a header that is to be left out."""
    lines = [f"{name}: {value}" if value and not value.isspace() else f"{name};" for name, value in headers.items()]
    text = "\n".join(lines)
    if text.count("\n") >= max(len(lines), 1) or "\r" in text or "\0" in text:
        raise InvalidRequest("header", "a value holds a line break", "write it in one line")
    lines += _NOT_SENT
    if has_body and "content-type" not in headers:
        lines.append("Content-Type:")
    return lines if text.isascii() else [line.encode("utf-8", "surrogateescape") for line in lines]


def parse_head(lines: list[bytes]) -> tuple[int, dict[str, str]]:
    """Status and headers of the last head, behind interim ones and a broken attempt's; status 0 where it has no end."""
    headers: dict[str, str] = {}
    status, ended = 0, True
    for line in lines:
        if line[:5] == b"HTTP/":
            status, headers, ended = int(line.split(None, 2)[1]), {}, False
        elif not ended:
            name, colon, value = line.decode("utf-8", "surrogateescape").partition(":")
            if colon:
                headers[name.lower()] = value.strip()
            else:
                ended = not line.strip()
    return status if ended else 0, headers
