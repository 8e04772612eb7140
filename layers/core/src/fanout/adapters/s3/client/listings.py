"""The operations on buckets: does it exist, what does it hold, whose is what is written there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fanout.adapters.s3.client.answers import hold_there
from fanout.adapters.s3.client.object_page import ObjectPage, PageAsked, parse_object_page
from fanout.adapters.s3.client.requests import Call, S3Requests
from fanout.adapters.s3.client.responses import Upload, parse_ownership, parse_uploads, to_seconds
from fanout.model.errors import ListingIncomplete, NotFound
from fanout.work.threads import pool_of_iterator

# What S3 takes a bucket for that has no controls (AmazonS3/latest/userguide/about-object-ownership.html).
_WITHOUT_CONTROLS = "ObjectWriter"


class ListingCalls(S3Requests):
    """Head a bucket, list its objects and its unfinished uploads, ask whose its objects are."""

    def head_bucket(self, bucket: str) -> None:
        """Raise ``InvalidRequest`` or ``AccessDenied`` if the bucket is not there to be listed."""
        self.request("HeadBucket", "HEAD", bucket, hold=hold_there).result()

    def list_objects_v2(
        self,
        bucket: str,
        *,
        prefix: str = "",
        start_after: str = "",
        continuation: str = "",
        delimiter: str = "",
        max_keys: int = 1000,
        after: str = "",
    ) -> ObjectPage:
        """A page of the keys under ``prefix`` after ``start_after``, or the page that ``continuation`` names.

        With ``after``, the last key of the pages before, its keys must lie after that.
        Raises ``ListingIncomplete`` where no answer was the page that was asked for.
        """
        least = after if continuation else start_after
        asked = PageAsked(bucket, prefix, start_after, continuation, delimiter, max_keys, least)
        return self._list(asked).read(lambda response: parse_object_page(response.body, asked))

    @contextmanager
    def listing_one(self, bucket: str, prefix: str) -> Iterator[Callable[[], ObjectPage]]:
        """A page of at most one key, asked for; the call receives it, as ``list_objects_v2``."""
        asked = PageAsked(bucket, prefix, "", "", "", 1, "")
        call = self._list(asked).begin()
        try:
            yield lambda: call.read(lambda response: parse_object_page(response.body, asked))
        finally:
            call.abandon()

    def _list(self, asked: PageAsked) -> Call:
        query = [("list-type", "2"), ("encoding-type", "url"), ("max-keys", str(asked.most_keys))]
        optional = {
            "prefix": asked.prefix,
            "start-after": asked.start_after,
            "continuation-token": asked.continuation,
            "delimiter": asked.delimiter,
        }
        query += [(name, value) for name, value in optional.items() if value]
        return self.request("ListObjectsV2", "GET", asked.bucket, query=query)

    def time_ns(self, bucket: str, prefix: str) -> int:
        """S3's own time, in whole seconds: the Date of an answer."""
        query = [("list-type", "2"), ("encoding-type", "url"), ("max-keys", "1")]
        query += [("prefix", prefix)] if prefix else []
        answer = self.request("ListObjectsV2", "GET", bucket, query=query).result()
        return to_seconds(answer.headers.get("date", "")) * 1_000_000_000

    def list_multipart_uploads(self, bucket: str, *, prefix: str = "") -> list[Upload]:
        """The first of the unfinished multipart uploads under ``prefix``."""
        query = [("uploads", ""), ("encoding-type", "url")] + ([("prefix", prefix)] if prefix else [])
        call = self.request("ListMultipartUploads", "GET", bucket, query=query)
        return call.read(lambda response: parse_uploads(response.body, bucket))

    def get_bucket_ownership_controls(self, bucket: str) -> str:
        """The Object Ownership of the bucket, also where none was ever set."""
        call = self.request("GetBucketOwnershipControls", "GET", bucket, query=[("ownershipControls", "")])
        try:
            return call.read(lambda response: parse_ownership(response.body))
        except NotFound as missing:
            if missing.code != "OwnershipControlsNotFoundError":
                raise
            return _WITHOUT_CONTROLS


def object_pages(
    client: ListingCalls, bucket: str, prefix: str, *, start_after: str = "", last_key: str = ""
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
