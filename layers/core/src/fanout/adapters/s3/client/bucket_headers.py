"""The headers that each request to a bucket carries: who pays, and the account that must own the bucket.

The run's own bucket must belong to the stack's account, whatever a request says: the name of a bucket that was deleted
is free for whoever makes it next.

Source: docs.aws.amazon.com/AmazonS3/latest/userguide, ObjectsinRequesterPaysBuckets and bucket-owner-condition.
"""

from __future__ import annotations

from collections.abc import Mapping

from fanout.request.parts.bucket_options import BucketOptions

PAYER = "x-amz-request-payer"
OWNER = "x-amz-expected-bucket-owner"
_OWNER_OF_SOURCE = "x-amz-source-expected-bucket-owner"

Headers = Mapping[str, str]


def headers_of_buckets(options: Mapping[str, BucketOptions]) -> dict[str, Headers]:
    """The headers of each bucket that has any, by its name."""
    found = {bucket: _headers(one) for bucket, one in options.items()}
    return {bucket: headers for bucket, headers in found.items() if headers}


def own_bucket(bucket: str, account: str) -> dict[str, Headers]:
    """The headers of the stack's work bucket; none where the account is not known."""
    return {bucket: {OWNER: account}} if account else {}


def _headers(options: BucketOptions) -> dict[str, str]:
    headers = {PAYER: "requester"} if options.requester_pays else {}
    return headers | ({OWNER: options.expected_owner} if options.expected_owner else {})


def as_source(headers: Headers) -> dict[str, str]:
    """A bucket's headers in a request to another one, which copies from it."""
    names = {PAYER: PAYER, OWNER: _OWNER_OF_SOURCE}
    return {names[name]: value for name, value in headers.items()}


def remedy_for(headers: Headers, bucket: str, operation: str) -> str:
    """Names the cause, other than a missing permission, for which S3 may deny a request with these headers."""
    if OWNER in headers:
        return f"; {bucket} may not belong to {headers[OWNER]}: look whose it is (expected_owner is of the request)"
    if operation == "ListObjectsV2" and PAYER not in headers:
        return "; if its requesters pay, set requester_pays"
    return ""
