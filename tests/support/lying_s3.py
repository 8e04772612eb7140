"""An S3 on the loopback whose answers are not to be believed: a proxy before another server.

Each lie says which requests it can be told about (``CAN``); the others are answered truly. What a lie says was
applied and was not, or the other way round, stands beside its name.
"""

from __future__ import annotations

import http.client
import random
import re
import time
from collections.abc import Callable, Mapping
from html import unescape
from urllib.parse import parse_qsl, urlsplit

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.sigv4 import RequestSigner, encode_query
from tests.support.http import Head, whole_answer
from tests.support.s3_proxy import S3Proxy
from tests.support.s3_servers import KEY

ANOTHERS = "answer of another request of the kind"  # a write is not applied
DOUBLED = "answer that comes twice"  # applied once
WRONG_RANGE = "range beside the one asked for"
ERROR_INSIDE = "error inside a 200"  # not applied
HTML_INSIDE = "HTML inside a 200"  # not applied
HTML_AFTER = "HTML inside a 200, and yet applied"
NOTHING_INSIDE = "empty 200"  # not applied
NO_IS_TRUNCATED = "page without IsTruncated"
FIRST_PAGE_AGAIN = "first page in place of a later one"
PAGE_SKIPPED = "page after the one asked for"
NONE_DELETED = "DeleteResult without a key"  # not applied
NAMELESS_ERROR = "DeleteResult whose last key is an error without a name"  # applied
LIES = (
    ANOTHERS,
    DOUBLED,
    WRONG_RANGE,
    ERROR_INSIDE,
    HTML_INSIDE,
    HTML_AFTER,
    NOTHING_INSIDE,
    NO_IS_TRUNCATED,
    FIRST_PAGE_AGAIN,
    PAGE_SKIPPED,
    NONE_DELETED,
    NAMELESS_ERROR,
)

_ERROR = b"<?xml version='1.0'?>\n<Error><Code>InternalError</Code><Message>as asked</Message></Error>"
_HTML = b"<!DOCTYPE html><html><head><title>Welcome</title></head><body><p>Please log in.<br></body></html>"
_OBJECT_OPERATIONS = ("GetObject", "HeadObject", "PutObject", "UploadPart")
_XML_OPERATIONS = (
    "ListObjectsV2",
    "DeleteObjects",
    "CopyObject",
    "UploadPartCopy",
    "CreateMultipartUpload",
    "CompleteMultipartUpload",
    "GetObjectTagging",
)
CAN: Mapping[str, tuple[str, ...]] = {
    ANOTHERS: (*_OBJECT_OPERATIONS, *_XML_OPERATIONS),
    DOUBLED: (*_OBJECT_OPERATIONS, *_XML_OPERATIONS, "DeleteObject"),
    WRONG_RANGE: ("GetObject",),
    ERROR_INSIDE: (*_XML_OPERATIONS, "PutObject", "UploadPart", "DeleteObject"),
    HTML_INSIDE: (*_XML_OPERATIONS, "GetObject", "PutObject", "UploadPart", "DeleteObject"),
    HTML_AFTER: (*_XML_OPERATIONS, "PutObject", "UploadPart", "DeleteObject"),
    NOTHING_INSIDE: (*_XML_OPERATIONS, *_OBJECT_OPERATIONS, "DeleteObject"),
    NO_IS_TRUNCATED: ("ListObjectsV2",),
    FIRST_PAGE_AGAIN: ("ListObjectsV2",),
    PAGE_SKIPPED: ("ListObjectsV2",),
    NONE_DELETED: ("DeleteObjects",),
    NAMELESS_ERROR: ("DeleteObjects",),
}
# Lies that no answer shows: two copies may answer alike, two sets of tags, and a HEAD before its ETag is known.
UNSEEN = {ANOTHERS: ("CopyObject", "UploadPartCopy", "GetObjectTagging", "HeadObject")}

Chooses = Callable[[Head], str]


def operation_of(head: Head) -> str:
    """The name of the operation that a request asks for."""
    query = dict(parse_qsl(urlsplit(head.target).query, keep_blank_values=True))
    if head.method == "GET":
        named = {"list-type": "ListObjectsV2", "uploads": "ListMultipartUploads", "uploadId": "ListParts"}
        named |= {"tagging": "GetObjectTagging", "ownershipControls": "GetBucketOwnershipControls"}
        return next((name for parameter, name in named.items() if parameter in query), "GetObject")
    if head.method == "PUT":
        copied = "x-amz-copy-source" in head.headers
        return (
            ("UploadPart" if "uploadId" in query else "PutObject")
            if not copied
            else ("UploadPartCopy" if "uploadId" in query else "CopyObject")
        )
    if head.method == "POST":
        named = {"delete": "DeleteObjects", "uploads": "CreateMultipartUpload", "uploadId": "CompleteMultipartUpload"}
        return next(name for parameter, name in named.items() if parameter in query)
    if head.method == "DELETE":
        return "AbortMultipartUpload" if "uploadId" in query else "DeleteObject"
    return "HeadObject" if len(urlsplit(head.target).path.split("/", 2)) > 2 else "HeadBucket"


def at_random(seed: int, fraction: float, lies: tuple[str, ...] = LIES) -> Chooses:
    """Every lie that a request allows and a client can see, at the same chance, at ``fraction`` of the requests."""
    draw = random.Random(seed)

    def choose(head: Head) -> str:
        operation = operation_of(head)
        fitting = [lie for lie in lies if operation in CAN[lie] and operation not in UNSEEN.get(lie, ())]
        return draw.choice(fitting) if fitting and draw.random() < fraction else ""

    return choose


def about(operation: str, lie: str, part: str = "", times: int = 10**9) -> Chooses:
    """One lie, about the requests of an operation whose target holds ``part``, so many times."""
    left = [times]

    def choose(head: Head) -> str:
        if operation_of(head) != operation or part not in head.target or not left[0]:
            return ""
        left[0] -= 1
        return lie

    return choose


class LyingS3(S3Proxy):
    """Forwards to ``upstream`` and lies where ``choose`` names one of ``LIES``; ``told`` counts them by operation."""

    def __init__(self, upstream: str, choose: Chooses = lambda head: "") -> None:
        self.told: dict[tuple[str, str], int] = {}
        self._answers: dict[tuple[str, str], dict[str, bytes]] = {}
        self._first_pages: dict[str, bytes] = {}
        self._signer = RequestSigner("us-east-1")
        super().__init__(upstream, choose)

    def answer(self, head: Head, body: bytes, upstream: http.client.HTTPConnection, fault: str) -> bytes:
        """The upstream's answer, or a lie in its place; one that cannot be told yet is left out."""
        operation = operation_of(head)
        lie = self._lie(operation, head, body, upstream, fault) if fault in LIES else None
        if lie is not None:
            self.told[fault, operation] = self.told.get((fault, operation), 0) + 1
            return lie
        answer = whole_answer(head, body, upstream)
        # What S3 answers to a PUT carries the checksum that was sent; some servers leave it out for directories.
        tells = operation not in ("PutObject", "UploadPart") or b"x-amz-checksum-crc64nvme" in answer.lower()
        if answer[9:10] == b"2" and tells:
            self._remember(operation, head, answer)
        return answer

    def forget(self) -> None:
        """Forget the answers that might be told: one to the same bytes shows no lie."""
        self._answers.clear()

    def _remember(self, operation: str, head: Head, answer: bytes) -> None:
        likes = self._answers.setdefault((operation, head.headers.get("range", "")), {})
        likes.pop(head.target, None)
        likes[head.target] = answer
        while len(likes) > 4:
            del likes[next(iter(likes))]
        if operation == "ListObjectsV2" and "continuation-token" not in head.target:
            self._first_pages[_prefix_of(head)] = answer

    def _lie(
        self, operation: str, head: Head, body: bytes, upstream: http.client.HTTPConnection, lie: str
    ) -> bytes | None:
        if operation not in CAN[lie]:
            return None
        if lie == ANOTHERS:
            likes = dict(self._answers.get((operation, head.headers.get("range", "")), {}))  # others answer beside it
            return next((answer for target, answer in likes.items() if target != head.target), None)
        if lie == DOUBLED:
            return whole_answer(head, body, upstream) * 2
        if lie == HTML_AFTER:
            whole_answer(head, body, upstream)
            return _with_body(_HTML, "text/html")
        if lie == NAMELESS_ERROR:
            result = whole_answer(head, body, upstream).partition(b"\r\n\r\n")[2]
            kept, _, last = result.rpartition(b"<Deleted>")
            nameless = b"<Error><Key></Key><Code>InternalError</Code></Error>"
            return _with_body(kept + nameless + last.partition(b"</Deleted>")[2], "application/xml")
        if lie == WRONG_RANGE:
            return self._beside(head, upstream)
        if lie in (NO_IS_TRUNCATED, FIRST_PAGE_AGAIN, PAGE_SKIPPED):
            return self._page(head, upstream, lie)
        inside = {ERROR_INSIDE: _ERROR, HTML_INSIDE: _HTML, NOTHING_INSIDE: b"", NONE_DELETED: b"<DeleteResult/>"}[lie]
        return _with_body(inside, "text/html" if lie == HTML_INSIDE else "application/xml")

    def _page(self, head: Head, upstream: http.client.HTTPConnection, lie: str) -> bytes | None:
        if lie == FIRST_PAGE_AGAIN:
            return self._first_pages.get(_prefix_of(head)) if "continuation-token" in head.target else None
        answer = whole_answer(head, b"", upstream)
        page = answer.partition(b"\r\n\r\n")[2]
        if lie == NO_IS_TRUNCATED:
            return _with_body(re.sub(rb"<IsTruncated>[a-z]*</IsTruncated>", b"", page), "application/xml")
        token = re.search(rb"<NextContinuationToken>([^<]*)<", page)
        if token is None:
            return None
        query = dict(parse_qsl(urlsplit(head.target).query, keep_blank_values=True))
        query["continuation-token"] = unescape(token[1].decode())
        return self._asked_anew(head, upstream, encode_query(query.items()), {})

    def _beside(self, head: Head, upstream: http.client.HTTPConnection) -> bytes | None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", head.headers.get("range", ""))
        if asked is None or asked[1] == asked[2]:
            return None
        shifted = f"bytes={max(0, int(asked[1]) - 1)}-{int(asked[2]) - 1}"
        return self._asked_anew(head, upstream, urlsplit(head.target).query, {"range": shifted})

    def _asked_anew(
        self, head: Head, upstream: http.client.HTTPConnection, query: str, changed: Mapping[str, str]
    ) -> bytes:
        """The answer to a changed request, signed for it."""
        path, host = urlsplit(head.target).path, head.headers["host"]
        unsigned = ("host", "authorization", "x-amz-date", "x-amz-content-sha256")
        headers = {name: value for name, value in head.headers.items() if name not in unsigned} | dict(changed)
        signed = self._signer.sign(head.method, host, path, query, headers, Credentials(KEY, KEY), time.time())
        return whole_answer(Head(head.method, f"{path}?{query}", {"host": host, **signed}), b"", upstream)


def _prefix_of(head: Head) -> str:
    query = dict(parse_qsl(urlsplit(head.target).query))
    return f"{urlsplit(head.target).path}?{query.get('prefix', '')}"


def _with_body(body: bytes, content_type: str) -> bytes:
    return f"HTTP/1.1 200 X\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
