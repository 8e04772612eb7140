"""An S3 object opened for reading, every request pinned to the listed ETag."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial

from fanout.adapters.http.transport import ConnectionBroken, Response
from fanout.adapters.s3.client.answers import holds_from, holds_whole
from fanout.adapters.s3.client.faults import broken
from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.metadata import from_headers
from fanout.adapters.s3.place import ObjectPlace
from fanout.facts import units
from fanout.model.checksum import CRC64NVME, from_base64, to_base64, told_as
from fanout.model.entry import Attributes, Entry, whole_seconds
from fanout.model.errors import (
    AccessDenied,
    CustomerKey,
    FanoutError,
    Held,
    ItemError,
    NotFound,
    PreconditionFailed,
)
from fanout.model.outcome import Reason

# The client's errors that concern one entry, not the whole task.
REFUSALS = (NotFound, PreconditionFailed, AccessDenied)


def stored_checksum(headers: Mapping[str, str]) -> int | None:
    """S3's own CRC64NVME of the whole object, where the headers hold it."""
    stored = told_as(CRC64NVME, headers)
    return from_base64(stored) if stored else None


def etag_is_digest(headers: Mapping[str, str]) -> bool:
    """Whether the ETag is the MD5 of what was sent: not under a key of KMS or of the customer.

    See docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html, ETag.
    """
    return headers.get("x-amz-server-side-encryption", "AES256") == "AES256"


class ObjectSource:
    """A ``Source`` over one object.

    An object of at most ``whole_bytes`` is one GET that yields bytes, attributes and checksum alike;
    it is sent here, and its answer received at the first use.
    A larger one is read in ranges, and one HEAD yields the attributes and the checksum of the whole,
    which a range does not carry.
    """

    def __init__(self, place: ObjectPlace, entry: Entry, whole_bytes: int) -> None:
        self._place = place
        self._entry = entry
        self._etag = entry.etag
        self._is_whole = entry.size <= whole_bytes
        self._body = b""
        self._headers: dict[str, str] | None = None
        self._attributes: Attributes | None = None
        self._asked: Call | None = None
        if self._is_whole:
            try:
                self._asked = self._begin()
            except REFUSALS as error:
                raise item_error(place, error) from error

    @property
    def attributes(self) -> Attributes:
        """The object's attributes, from its metadata headers and its listed time."""
        if self._attributes is None:
            found = from_headers(self._whole_headers())
            found.modified_ns = whole_seconds(self._entry.changed_ns)
            self._attributes = found
        return self._attributes

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only at the end of the object."""
        if self._is_whole:
            self._whole_headers()
            if not offset and length >= len(self._body):
                return self._body
            return self._body[offset : offset + length]
        return b"".join(self.stream(offset, length))

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """See ``ports.tree.Source``: one request, whose pieces are handed over as they come."""
        if self._is_whole:
            yield self.read(offset, length)
            return
        end = min(offset + length, self._entry.size)
        if offset >= end:
            return
        try:
            yield from stream_range(self._place, self._etag, (offset, end - 1), self._pinned)
        except REFUSALS as error:
            raise item_error(self._place, error) from error

    def zeros_at(self, offset: int) -> int:
        """An object has no holes."""
        return 0

    def confirm(self, crc64nvme: int | None) -> None:
        """Raise ``ItemError`` if the object is not what was listed or holds bytes of another checksum.

        An object without a full-object checksum has nothing to compare with.
        """
        headers = self._whole_headers()
        if crc64nvme is None:
            return
        stored = stored_checksum(headers)
        if stored is not None and stored != crc64nvme:
            message = f"{self._place} read as {to_base64(crc64nvme)}, stored as {to_base64(stored)}"
            raise ItemError(Reason.CHECKSUM, message)

    def close(self) -> None:
        """Release the bytes, and abandon an answer that was not read."""
        self._body = b""
        if self._asked is not None:
            self._asked.abandon()
            self._asked = None

    def _begin(self) -> Call:
        place, entry = self._place, self._entry
        return place.client.begin_get_object(place.bucket, place.key, if_match=self._etag, body_bytes=entry.size)

    def _whole_headers(self) -> dict[str, str]:
        if self._headers is None:
            response = self._request(head=not self._is_whole)
            self._headers, self._body = response.headers, response.body
        return self._headers

    def _request(self, *, head: bool = False) -> Response:
        place = self._place
        try:
            if head:
                response = place.head(if_match=self._etag)
            else:
                asked, self._asked = self._asked, None
                response = (asked or self._begin()).result()
        except REFUSALS as error:
            raise item_error(self._place, error) from error
        self._pinned(response)
        return response

    def _pinned(self, response: Response) -> None:
        """Raise ``ItemError`` unless the answer is of the object that was listed.

        Where the listing gave no ETag, the first answer's pins all that follow; that this one is of the right
        object is then shown by its size alone.
        """
        if response.total_bytes != self._entry.size:
            message = f"{self._place} has {response.total_bytes} bytes, listed with {self._entry.size}"
            raise ItemError(Reason.SOURCE_CHANGED, message)
        self._etag = self._etag or response.headers.get("etag", "")


# Refusals that permission does not mend.
REFUSED_FOR: dict[type[FanoutError], Reason] = {
    Held: Reason.SOURCE_ARCHIVED,
    CustomerKey: Reason.CUSTOMER_KEY,
}


def item_error(place: ObjectPlace, error: NotFound | PreconditionFailed | AccessDenied) -> ItemError:
    """Turns a refusal of S3 into the error of a source entry."""
    if isinstance(error, PreconditionFailed):
        return ItemError(Reason.SOURCE_CHANGED, f"{place} was written after it was listed")
    if isinstance(error, NotFound):
        return ItemError(Reason.SOURCE_VANISHED, f"{place} is no longer there")
    return ItemError(REFUSED_FOR.get(type(error), Reason.SOURCE_DENIED), str(error))


# An exchange that broke off before anything of its object came.
_NOTHING = Response(0, {}, b"")
# An answer of so many bytes before it broke off was progress: the attempts are counted anew.
_PROGRESS_BYTES = units.MIB


def stream_range(
    place: ObjectPlace, etag: str, byte_range: tuple[int, int], pin: Callable[[Response], None]
) -> Generator[bytes]:
    """Bytes of the object with this ETag as they come: from the first to the last of ``byte_range``, both included.

    ``pin`` raises where an answer is not of the object that was listed. Raises what ``get_object`` of the client
    raises. Bytes count when the generator ends: until then any may be missing.
    """
    client = place.client
    at, last = byte_range
    failures = 0
    while at <= last:
        asked, taken = (at, last), 0
        call = client.begin_get_range(place.bucket, place.key, asked, if_match=etag, fresh=failures > 0)
        try:
            for piece in call.pieces(partial(_is_wanted, etag=etag, asked=asked, pin=pin)):
                taken += len(piece)
                yield piece
            found = call.result(resumes=True)
            pin(found)
        except ConnectionBroken as exc:
            part = exc.begun
            found = part if part is not None and holds_from(part, etag, asked) else _NOTHING
            came = found.taken_bytes + len(found.body)
            failures = 1 if max(came, taken) >= _PROGRESS_BYTES else failures + 1
            client.wait_or_raise(broken(exc), failures, "GetObject", place.bucket, place.key)
            etag = etag or found.headers.get("etag", "")
        finally:
            call.abandon()
        rest = found.body[taken - found.taken_bytes :]  # an answer that came at a second try has all again
        if rest:
            yield rest
        at += taken + len(rest)


def _is_wanted(head: Response, etag: str, asked: tuple[int, int], pin: Callable[[Response], None]) -> bool:
    wanted = holds_whole(head, etag, asked)
    if wanted:
        pin(head)
    return wanted
