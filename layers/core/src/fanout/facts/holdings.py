"""The one table of all that a source publishes of an entry, with its fate at each kind of destination.

Copies, proofs, verifications, moves, the certificate and docs/understand/what-is-copied.md read it.
A move deletes no entry of which the source publishes something that is not holdable, unless the request allows it.

Sources: AmazonS3/latest/API, API_CopyObject (metadata and tags go along, the website redirect does not: "This value is
unique to each object and is not copied"), API_HeadObject (headers; ``x-amz-tagging-count``: "The number of tags, if
any, on the object, when you have the relevant permission to read object tags"; no header for annotations);
efs/latest/ug, limits.html (no access control lists, no extended attributes).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

REDIRECT = "x-amz-website-redirect-location"
TAG_COUNT = "x-amz-tagging-count"
CONTENT_TYPE = "content-type"
TAGS = "tags"
# The type of an object that nobody gave one.
DEFAULT_CONTENT_TYPES = ("binary/octet-stream", "application/octet-stream")


class Fate(StrEnum):
    """The fate of something that a source publishes; ``NONE`` where this kind of source publishes no such thing."""

    COMPARED = "copied and compared"
    CARRIED = "copied, not compared"
    NOT_HOLDABLE = "the destination cannot hold it"
    STORE = "the store's own: as the request or the destination says"
    UNSEEN = "not seen: no answer that a run reads shows it"
    NONE = "none"


class Direction(StrEnum):
    """The kinds of source and destination."""

    MOUNTS = "EFS to EFS"
    TO_S3 = "EFS to S3"
    FROM_S3 = "S3 to EFS"
    INSIDE_S3 = "inside S3"


class Holding(Struct, frozen=True):
    """A row: something that a source may publish of an entry, and its fate in each direction.

    ``headers`` are those of an object that hold it.
    """

    what: str
    mounts: Fate = Fate.NONE
    to_s3: Fate = Fate.NONE
    from_s3: Fate = Fate.NONE
    inside_s3: Fate = Fate.NONE
    headers: tuple[str, ...] = ()

    def fate(self, direction: Direction) -> Fate:
        """Its fate in a direction."""
        found: Fate = getattr(self, direction.name.lower())
        return found


_C, _L, _N, _S, _U = Fate.COMPARED, Fate.CARRIED, Fate.NOT_HOLDABLE, Fate.STORE, Fate.UNSEEN
HOLDINGS = (
    Holding("bytes and targets of symlinks", _C, _C, _C, _C),
    Holding("mode", _C, _C, _C, _C),
    Holding("owner and group", _C, _C, _C, _C),
    Holding("mtime", _C, _C, _C, _C),
    Holding("atime", _L, _L, _L, _C),
    Holding("hard links", _C, _N),
    Holding("holes", _L, _S),
    Holding("access control lists and extended attributes", _U, _U),
    Holding("Content-Type", from_s3=_N, inside_s3=_C, headers=(CONTENT_TYPE,)),
    Holding("Cache-Control", from_s3=_N, inside_s3=_C, headers=("cache-control",)),
    Holding("Content-Disposition", from_s3=_N, inside_s3=_C, headers=("content-disposition",)),
    Holding("Content-Encoding", from_s3=_N, inside_s3=_C, headers=("content-encoding",)),
    Holding("Content-Language", from_s3=_N, inside_s3=_C, headers=("content-language",)),
    Holding("Expires", from_s3=_N, inside_s3=_C, headers=("expires",)),
    Holding("website redirect", from_s3=_N, inside_s3=_C, headers=(REDIRECT,)),
    Holding("user metadata", from_s3=_N, inside_s3=_C),
    Holding(TAGS, from_s3=_N, inside_s3=_L),
    Holding("annotations", from_s3=_U, inside_s3=_U),
    Holding("storage class", from_s3=_S, inside_s3=_S),
    Holding("encryption", from_s3=_S, inside_s3=_S),
    Holding("access list and owner of the object", from_s3=_S, inside_s3=_S),
    Holding("retention and legal hold", from_s3=_S, inside_s3=_S),
    Holding("older versions", from_s3=_S, inside_s3=_S),
)
# The headers of an object that are kept with it, in addition to its user metadata.
KEPT_HEADERS = {header: row.what for row in HOLDINGS for header in row.headers}


def direction_of(source_is_keyed: bool, destination_is_keyed: bool) -> Direction:
    """The direction between two ends, of which each is a bucket or not."""
    if source_is_keyed:
        return Direction.INSIDE_S3 if destination_is_keyed else Direction.FROM_S3
    return Direction.TO_S3 if destination_is_keyed else Direction.MOUNTS


def rows_with(fate: Fate, direction: Direction) -> list[str]:
    """The rows that have this fate in a direction."""
    return [row.what for row in HOLDINGS if row.fate(direction) is fate]
