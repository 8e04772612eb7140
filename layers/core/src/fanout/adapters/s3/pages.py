"""A listing as a stream of pages, one of them fetched ahead."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.object_page import ObjectPage
from fanout.model.errors import ListingIncomplete
from fanout.work.threads import pool_of_iterator


def object_pages(
    client: S3Client, bucket: str, prefix: str, *, start_after: str = "", last_key: str = ""
) -> Iterator[ObjectPage]:
    """The pages of the keys under ``prefix`` after ``start_after``.

    While the consumer works on a page a thread fetches the next one, and no more than that; none is fetched
    after a page that reaches ``last_key``. Closing the iterator does not wait for it.
    Raises ``ListingIncomplete`` where no answer is the page that was asked for, and where pages lead in a circle.
    """

    def fetch(continuation: str, after: str) -> ObjectPage:
        return client.list_objects_v2(
            bucket, prefix=prefix, start_after=start_after, continuation=continuation, after=after
        )

    page, after = fetch("", start_after), start_after
    empty: set[str] = set()  # tokens of empty pages in a row, which no order of keys keeps from a circle
    with pool_of_iterator(1, "list") as pool:
        while page.truncated:
            if page.keys:
                after = page.keys[-1]
                empty.clear()
            elif page.continuation in empty:
                raise ListingIncomplete(f"s3://{bucket}/{prefix}: empty pages lead in a circle")
            else:
                empty.add(page.continuation)
            if last_key and page.keys and page.keys[-1].encode() >= last_key.encode():
                break
            ahead = pool.submit(fetch, page.continuation, after)
            yield page
            page = ahead.result()
        yield page
