"""An S3 object opened for reading, every request pinned to the listed ETag."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.adapters.http.transport import ConnectionBroken, Response
from fanout.adapters.s3.client.answers import holds_from
from fanout.adapters.s3.client.faults import broken
from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.metadata import from_headers
from fanout.adapters.s3.place import Place
from fanout.facts import units
from fanout.model.checksum import from_base64, to_base64
from fanout.model.entry import Attributes, Entry, whole_seconds
from fanout.model.errors import (
    AccessDenied,
    Archived,
    CustomerKey,
    FanoutError,
    ItemError,
    NotFound,
    PreconditionFailed,
)
from fanout.model.outcome import Reason

# The client's errors that concern one entry, not the whole task.
REFUSALS = (NotFound, PreconditionFailed, AccessDenied)


def stored_checksum(headers: Mapping[str, str]) -> int | None:
    """S3's own CRC64NVME of the whole object, where the headers hold it."""
    stored = headers.get("x-amz-checksum-crc64nvme")
    if not stored or headers.get("x-amz-checksum-type", "FULL_OBJECT") != "FULL_OBJECT":
        return None
    return from_base64(stored)


class ObjectSource:
    """A ``Source`` over one object.

    An object of at most ``whole_bytes`` is one GET that yields bytes, attributes and checksum alike;
    it is sent here, and its answer received at the first use.
    A larger one is read in ranges, and one HEAD yields the attributes and the checksum of the whole,
    which a range does not carry.
    """

    def __init__(self, place: Place, entry: Entry, whole_bytes: int) -> None:
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
        end = min(offset + length, self._entry.size)
        if offset >= end:
            return b""
        data = self._request((offset, end - 1)).body
        if len(data) != end - offset:
            raise ItemError(Reason.SOURCE_CHANGED, f"{self._place} gave {len(data)} of {end - offset} bytes")
        return data

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

    def _request(self, byte_range: tuple[int, int] | None = None, *, head: bool = False) -> Response:
        place = self._place
        try:
            if head:
                response = place.head(if_match=self._etag)
            elif byte_range is None:
                asked, self._asked = self._asked, None
                response = (asked or self._begin()).result()
            else:
                response = read_range(place, self._etag, byte_range)
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
_REFUSED_FOR: dict[type[FanoutError], Reason] = {
    Archived: Reason.SOURCE_ARCHIVED,
    CustomerKey: Reason.CUSTOMER_KEY,
}


def item_error(place: Place, error: NotFound | PreconditionFailed | AccessDenied) -> ItemError:
    """Turns a refusal of S3 into the error of a source entry."""
    if isinstance(error, PreconditionFailed):
        return ItemError(Reason.SOURCE_CHANGED, f"{place} was written after it was listed")
    if isinstance(error, NotFound):
        return ItemError(Reason.SOURCE_VANISHED, f"{place} is no longer there")
    return ItemError(_REFUSED_FOR.get(type(error), Reason.SOURCE_DENIED), str(error))


# An answer of so many bytes before it broke off was progress: the attempts are counted anew.
_PROGRESS_BYTES = units.MIB


def read_range(place: Place, etag: str, byte_range: tuple[int, int]) -> Response:
    """The bytes from the first to the last of ``byte_range``, both included, of the object with this ETag.

    Raises what ``get_object`` of the client raises.
    """
    at, last = byte_range
    begun: list[bytes] = []
    failures = 0
    while True:
        try:
            response = place.client.get_object(
                place.bucket, place.key, if_match=etag, byte_range=(at, last), resumes=True, fresh=failures > 0
            )
        except ConnectionBroken as exc:
            part = exc.begun
            came = len(part.body) if part is not None and holds_from(part, etag, (at, last)) else 0
            failures = 1 if came >= _PROGRESS_BYTES else failures + 1
            place.client.wait_or_raise(broken(exc), failures, "GetObject", place.bucket, place.key)
            if part is not None and 0 < came <= last - at:
                begun.append(part.body)
                at += came
                etag = etag or part.headers["etag"]
        else:
            if begun:
                response.body = b"".join([*begun, response.body])
            return response
