"""An S3 that only lists: numbered keys in pages of a given size, each after a given latency.

python -m benchmarks.synthetic_s3 --keys 100000 --page 100 --latency-ms 20 [--per-directory 1000]    prints its URL

All objects are written out once and have the same length, so that a page is a slice, which costs next to nothing beside
reading it: a machine of two cores can hold many listers and the server. Prefix, delimiter ``/``, start-after,
continuation-token and max-keys are those of ListObjectsV2.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

_ENTRY = (
    "<Contents><Key>{}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>"
)
_AFTER_ALL = "\U0010ffff"


class Keys:
    """So many keys: ``file-000000000`` and on, or as many in each of the directories ``d000000/`` and on."""

    def __init__(self, count: int, per_directory: int = 0) -> None:
        self.count, self._per_directory = count, per_directory
        self._written = "".join(_ENTRY.format(self.key(number)) for number in range(count)).encode()
        self._length = len(self._written) // max(1, count)

    def key(self, number: int) -> str:
        """The key of a number; all are of one length."""
        directory = f"d{number // self._per_directory:06d}/" if self._per_directory else ""
        return f"{directory}file-{number:09d}"

    def first_after(self, bound: str) -> int:
        """The number of the first key after a bound."""
        low, high, after = 0, self.count, bound.encode()
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.key(middle).encode() > after else (middle + 1, high)
        return low

    def first_with(self, prefix: str) -> int:
        """The number of the first key that has the prefix, or would come after those that have."""
        first = self.first_after(prefix)
        return first - (first > 0 and self.key(first - 1) == prefix)

    def written(self, start: int, end: int) -> bytes:
        """The objects of some numbers as XML."""
        return self._written[start * self._length : end * self._length]

    def page(self, query: dict[str, str], most: int) -> bytes:
        """The answer to ListObjectsV2, with at most so many objects."""
        prefix, token = query.get("prefix", ""), query.get("continuation-token")
        start = max(self.first_with(prefix), int(token) if token else self.first_after(query.get("start-after", "")))
        last = self.first_after(prefix + _AFTER_ALL)
        most = min(most, int(query.get("max-keys", "1000")))
        if query.get("delimiter") == "/":
            body, end = self._grouped(prefix, start, last, most)
        else:
            end = min(last, start + most)
            body = self.written(start, end)
        more = end < last
        following = f"<NextContinuationToken>{end}</NextContinuationToken>" if more else ""
        return (
            b'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            + f"<IsTruncated>{str(more).lower()}</IsTruncated>{following}".encode()
            + body
            + b"</ListBucketResult>"
        )

    def _grouped(self, prefix: str, start: int, last: int, most: int) -> tuple[bytes, int]:
        """Objects right below a prefix, and common prefixes; and the number where the page ends."""
        found: list[bytes] = []
        while start < last and len(found) < most:
            key = self.key(start)
            slash = key.find("/", len(prefix)) + 1
            if not slash:
                found.append(self.written(start, start + 1))
                start += 1
                continue
            found.append(f"<CommonPrefixes><Prefix>{key[:slash]}</Prefix></CommonPrefixes>".encode())
            start = self.first_after(key[:slash] + _AFTER_ALL)
        return b"".join(found), start


class _Answers(asyncio.Protocol):
    """One connection, on which a request follows the answer to the one before."""

    def __init__(self, keys: Keys, page: int, latency_seconds: float) -> None:
        self._keys, self._page, self._latency_seconds = keys, page, latency_seconds
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol``."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``; a request has no body."""
        *heads, self._received = (self._received + data).split(b"\r\n\r\n")
        for head in heads:
            asyncio.get_running_loop().call_later(self._latency_seconds, self._answer, head)

    def _answer(self, head: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        given = dict(_parameters(head.split(b" ", 2)[1].decode()))
        body = self._keys.page(given, self._page)
        length = f"Content-Length: {len(body)}\r\n"
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n" + length.encode() + b"\r\n" + body
        )


def _parameters(target: str) -> Iterator[tuple[str, str]]:
    query = parse_qs(urlsplit(target).query, keep_blank_values=True)
    return ((name, values[0]) for name, values in query.items())


async def serve(keys: Keys, page: int, latency_seconds: float) -> None:
    """Answer until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Answers(keys, page, latency_seconds), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--per-directory", type=int, default=0)
    parser.add_argument("--page", type=int, default=1000)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    given = parser.parse_args()
    asyncio.run(serve(Keys(given.keys, given.per_directory), given.page, given.latency_ms / 1000))


if __name__ == "__main__":
    main()
