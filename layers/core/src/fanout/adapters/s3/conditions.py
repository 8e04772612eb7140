"""Conditional writes replace only the object that was listed, so S3 refuses a late write of an earlier run.

| the entry ``replaces``       | condition                  |
|------------------------------|----------------------------|
| an ETag                      | ``If-Match`` with it       |
| nothing (``NOTHING_THERE``)  | ``If-None-Match: *``       |
| what is not known            | none                       |
| any, with overwrite: never   | ``If-None-Match: *``       |

A write may be refused although its object is there. Then another attempt of the task made it, or this request did and
its answer was lost. If something else is there, the request's ``overwrite`` says whether the entry counts as kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5

from msgspec import Struct

from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.responses import to_seconds
from fanout.adapters.s3.metadata import ATIME
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import stored_checksum
from fanout.facts.holdings import REDIRECT
from fanout.model.entry import NOTHING_THERE, Entry
from fanout.model.errors import FanoutError, ItemError, NotFound, PreconditionFailed
from fanout.model.outcome import Reason
from fanout.request.object_options import USER_PREFIX
from fanout.request.options import Overwrite, latest_of_second, replaces


class Condition(Struct, frozen=True):
    """The object that a write may replace, in the form of ``Entry.replaces``, and the request's policy.

    ``mtime_ns`` is the time of the source's entry.
    """

    replaces: str = ""
    overwrite: Overwrite = Overwrite.ALWAYS
    mtime_ns: int = 0

    @classmethod
    def of(cls, entry: Entry, overwrite: Overwrite) -> Condition:
        """The condition under which an entry is written."""
        listed = NOTHING_THERE if overwrite is Overwrite.NEVER else entry.replaces
        return cls(listed, overwrite, entry.mtime_ns)

    @property
    def headers(self) -> dict[str, str]:
        if not self.replaces:
            return {}
        return {"if-none-match": "*"} if self.replaces == NOTHING_THERE else {"if-match": self.replaces}

    def refused(self, error: FanoutError) -> bool:
        """Whether a write failed by this condition. S3 answers 404 where the object of an ETag is gone."""
        gone = isinstance(error, NotFound) and error.code == "NoSuchKey"
        return bool(self.replaces) and (gone or isinstance(error, PreconditionFailed))

    def keeps(self, found: Response) -> bool:
        """Whether the policy leaves an object that was written there after it was listed."""
        if self.overwrite is Overwrite.ALWAYS:
            return False
        modified_ns = to_seconds(found.headers.get("last-modified", "")) * 1_000_000_000
        return not replaces(self.overwrite, self.mtime_ns, latest_of_second(modified_ns))


ANYTHING = Condition()
_OTHERS_WRITE = "it is being written by others"


class Written(Struct, frozen=True):
    """The object that a write makes: its headers and the ``crc64nvme`` of its bytes, if known.

    ``etag`` is that of an object made in one piece, for a store that keeps no checksum; empty where it is not known.
    """

    size: int
    crc64nvme: int | None
    headers: Mapping[str, str]
    etag: str = ""


def etag_of(body: bytes) -> str:
    """The ETag of an object that one PUT made, if it is not encrypted with a key of KMS."""
    return f'"{md5(body, usedforsecurity=False).hexdigest()}"'


def find_written(place: ObjectPlace, written: Written, refusal: FanoutError, condition: Condition) -> Response:
    """The object of a write that was refused, which is there. Raises ``ItemError`` where another one is, or none."""
    try:
        found = place.client.head_listed(place.bucket, place.key)
    except NotFound:
        raise ItemError(Reason.DESTINATION_CHANGED, "it was deleted after it was listed") from refusal
    except PreconditionFailed:
        raise ItemError(Reason.DESTINATION_CHANGED, _OTHERS_WRITE) from refusal
    is_same = found.total_bytes == written.size and _same_bytes(found, written)
    if not is_same or _metadata(found.headers) != _metadata(written.headers):
        if condition.replaces and found.headers.get("etag", "") == condition.replaces:
            raise ItemError(Reason.DESTINATION_CHANGED, _OTHERS_WRITE) from refusal
        reason = Reason.KEPT if condition.keeps(found) else Reason.DESTINATION_CHANGED
        raise ItemError(reason, "something else was written there after it was listed") from refusal
    return found


def _same_bytes(found: Response, written: Written) -> bool:
    stored = stored_checksum(found.headers)
    if stored is not None and written.crc64nvme is not None:
        return stored == written.crc64nvme
    return bool(written.etag) and "-" not in written.etag and found.headers.get("etag", "") == written.etag


def _metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """User metadata and the website redirect, but not the time of the last access, which the copying itself moves."""
    return {
        name: value
        for name, value in headers.items()
        if name == REDIRECT or (name.startswith(USER_PREFIX) and name != ATIME)
    }
