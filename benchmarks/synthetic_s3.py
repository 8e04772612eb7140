"""An S3 that only lists: numbered keys in pages of a given size, each after a given latency.

python -m benchmarks.synthetic_s3 --keys 100000 --page 100 --latency-ms 20    prints its URL
"""

from __future__ import annotations

import argparse
import asyncio
import re
from urllib.parse import parse_qs, quote, urlsplit

NAME = "file-{:09d}"
_NUMBER = re.compile(r"file-(\d{1,9})")
_ENTRY = (
    "<Contents><Key>{}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>1</Size></Contents>"
)


def first_after(path: str, keys: int) -> int:
    """The number of the first key after a path."""
    low, high = 0, keys
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if NAME.format(middle).encode() > path.encode() else (middle + 1, high)
    return low


def page_of(query: dict[str, str], keys: int, page: int) -> bytes:
    """The answer to ListObjectsV2."""
    token = query.get("continuation-token")
    start = int(token) if token else first_after(query.get("start-after", ""), keys)
    end = min(keys, start + min(page, int(query.get("max-keys", "1000"))))
    more = end < keys
    body = "".join(_ENTRY.format(quote(NAME.format(number))) for number in range(start, end))
    following = f"<NextContinuationToken>{end}</NextContinuationToken>" if more else ""
    return (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<IsTruncated>{str(more).lower()}</IsTruncated>{following}{body}</ListBucketResult>"
    ).encode()


async def serve(keys: int, page: int, latency_seconds: float) -> None:
    """Answer until the process is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                target = head.split(b" ", 2)[1].decode()
                given = parse_qs(urlsplit(target).query, keep_blank_values=True)
                await asyncio.sleep(latency_seconds)
                body = page_of({name: values[0] for name, values in given.items()}, keys, page)
                length = f"Content-Length: {len(body)}\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n" + length.encode() + b"\r\n" + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--page", type=int, default=1000)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    given = parser.parse_args()
    asyncio.run(serve(given.keys, given.page, given.latency_ms / 1000))


if __name__ == "__main__":
    main()
