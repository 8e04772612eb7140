"""Checks every answer against its request before anything in it is used.

A kept connection or a proxy can deliver the answer to another request: whole, well-formed, with a checksum that fits
it. With If-Match S3 answers 412 for a changed object. A different ETag therefore does not mean that the object changed:
the answer belongs to another request, and the request is sent again.

Three limits remain. Two objects with the same bytes have the same simple ETag, so the metadata of one can be taken for
that of the other. S3 echoes neither key nor request in the answer to a GET, HEAD, PUT or DELETE of an object. An answer
404 or 412 without a body looks like that of another request.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fanout.adapters.http.curl import PARTIAL
from fanout.adapters.http.transport import Response
from fanout.model.checksum import to_base64
from fanout.model.entry import bare

CHECKSUM = "x-amz-checksum-crc64nvme"
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19})")


class WrongAnswer(Exception):
    """An answer that is none to what was asked: Transient, and repeated over a new connection."""


class ObjectAsked(Struct, frozen=True):
    """The expected answer to a GET or HEAD; ``etag`` is empty where it is not known."""

    etag: str = ""
    byte_range: tuple[int, int] | None = None
    is_head: bool = False

    def hold(self, response: Response) -> Response:
        """The answer. Raises ``WrongAnswer`` unless status, ETag, range and length are those asked for."""
        _require_status(response, 200 if self.byte_range is None else PARTIAL)
        etag = response.headers.get("etag", "")
        if not etag:
            raise WrongAnswer("an object without an ETag")
        if self.etag and etag != self.etag and bare(etag) != bare(self.etag):
            raise WrongAnswer(f"the ETag is {etag}, {self.etag} was asked for")
        if self.byte_range is not None:
            length = response.taken_bytes + len(response.body)
            _require_range(response.headers.get("content-range", ""), length, self.byte_range)
        elif self.is_head and not response.headers.get("content-length", "").isdecimal():
            raise WrongAnswer("a HEAD without a Content-Length")
        return response


def holds_from(begun: Response, etag: str, asked: tuple[int, int]) -> bool:
    """Whether what came of a part that broke off is the beginning of what was asked for."""
    theirs = begun.headers.get("etag", "")
    said = _CONTENT_RANGE.fullmatch(begun.headers.get("content-range", ""))
    if not theirs or (etag and bare(etag) != bare(theirs)) or said is None:
        return False
    first, last, total = map(int, said.groups())
    return (first, last) == (asked[0], min(asked[1], total - 1))


def holds_whole(head: Response, etag: str, asked: tuple[int, int]) -> bool:
    """Whether a body behind this head is what was asked for: its bytes may be used as they come.

    libcurl ends a body at its Content-Length, and takes one that ends before it for broken.
    """
    length = head.headers.get("content-length", "")
    is_counted = length == str(asked[1] + 1 - asked[0]) and "transfer-encoding" not in head.headers
    return head.status == PARTIAL and is_counted and holds_from(head, etag, asked)


class BytesSent(Struct, frozen=True):
    """The body of a PUT of an object or part; ``crc64nvme`` is ``None`` where the request named no checksum."""

    crc64nvme: int | None
    is_part: bool = False

    def hold(self, response: Response) -> Response:
        """The answer. Raises ``WrongAnswer`` unless it shows that the bytes were stored.

        An ETag shows it, or the checksum that was sent; another checksum is that of other bytes.
        """
        _require_status(response, 200)
        if response.body.strip():
            raise WrongAnswer(f"{len(response.body)} bytes where a PUT has none to tell")
        ours = "" if self.crc64nvme is None else to_base64(self.crc64nvme)
        theirs = response.headers.get(CHECKSUM, "")
        if ours and theirs and ours != theirs:
            raise WrongAnswer(f"CRC64NVME {theirs} was stored, {ours} was sent")
        if not response.headers.get("etag") and (self.is_part or not (ours and theirs)):
            raise WrongAnswer("neither ETag nor checksum shows that the bytes were stored")
        return response


def hold_gone(response: Response) -> Response:
    """The answer to DeleteObject or AbortMultipartUpload, which is 204. Raises ``WrongAnswer`` for any other."""
    _require_status(response, 204)
    return response


def hold_there(response: Response) -> Response:
    """The answer to HeadBucket, which is 200. Raises ``WrongAnswer`` for any other."""
    _require_status(response, 200)
    return response


def _require_status(response: Response, status: int) -> None:
    if response.status != status:
        raise WrongAnswer(f"the status is {response.status}, {status} answers this")


def _require_range(said: str, length: int, asked: tuple[int, int]) -> None:
    found = _CONTENT_RANGE.fullmatch(said)
    if found is None:
        raise WrongAnswer(f"{said!r} is no Content-Range")
    first, last, total = map(int, found.groups())
    if (first, last) != (asked[0], min(asked[1], total - 1)):
        raise WrongAnswer(f"the range is {said}, bytes {asked[0]}-{asked[1]} were asked for")
    if length != last + 1 - first:
        raise WrongAnswer(f"{length} bytes under the range {said}")
