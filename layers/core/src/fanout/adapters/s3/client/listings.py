"""The operations on buckets: does it exist, what does it hold, whose is what is written there."""

from __future__ import annotations

from fanout.adapters.s3.client.answers import hold_there
from fanout.adapters.s3.client.object_page import ObjectPage, PageAsked, parse_object_page
from fanout.adapters.s3.client.requests import S3Requests
from fanout.adapters.s3.client.responses import UploadPage, parse_ownership, parse_upload_page, to_seconds
from fanout.model.errors import NotFound

# What S3 takes a bucket for that has no controls (AmazonS3/latest/userguide/about-object-ownership.html).
_WITHOUT_CONTROLS = "ObjectWriter"


class ListingCalls(S3Requests):
    """Head a bucket, list its objects and its unfinished uploads, ask whose its objects are."""

    def head_bucket(self, bucket: str) -> None:
        """Raise ``InvalidRequest`` or ``AccessDenied`` if the bucket is not there to be listed."""
        self.call("HeadBucket", "HEAD", bucket, hold=hold_there)

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
        query = [("list-type", "2"), ("encoding-type", "url"), ("max-keys", str(max_keys))]
        optional = {
            "prefix": prefix,
            "start-after": start_after,
            "continuation-token": continuation,
            "delimiter": delimiter,
        }
        query += [(name, value) for name, value in optional.items() if value]
        least = after if continuation else start_after
        asked = PageAsked(bucket, prefix, start_after, continuation, delimiter, max_keys, least)
        call = self.request("ListObjectsV2", "GET", bucket, query=query)
        return call.read(lambda response: parse_object_page(response.body, asked))

    def time_ns(self, bucket: str, prefix: str) -> int:
        """S3's own time, in whole seconds: the Date of an answer."""
        query = [("list-type", "2"), ("encoding-type", "url"), ("max-keys", "1")]
        query += [("prefix", prefix)] if prefix else []
        answer = self.call("ListObjectsV2", "GET", bucket, query=query)
        return to_seconds(answer.headers.get("date", "")) * 1_000_000_000

    def list_multipart_uploads(
        self, bucket: str, *, prefix: str = "", key_marker: str = "", upload_id_marker: str = ""
    ) -> UploadPage:
        """A page of the unfinished multipart uploads under ``prefix`` after the markers."""
        query = [("uploads", ""), ("encoding-type", "url")]
        optional = {"prefix": prefix, "key-marker": key_marker, "upload-id-marker": upload_id_marker}
        query += [(name, value) for name, value in optional.items() if value]
        call = self.request("ListMultipartUploads", "GET", bucket, query=query)
        return call.read(lambda response: parse_upload_page(response.body, bucket, (key_marker, upload_id_marker)))

    def get_bucket_ownership_controls(self, bucket: str) -> str:
        """The Object Ownership of the bucket, also where none was ever set."""
        call = self.request("GetBucketOwnershipControls", "GET", bucket, query=[("ownershipControls", "")])
        try:
            return call.read(lambda response: parse_ownership(response.body))
        except NotFound as missing:
            if missing.code != "OwnershipControlsNotFoundError":
                raise
            return _WITHOUT_CONTROLS
