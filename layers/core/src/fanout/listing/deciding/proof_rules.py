"""Decides whether a file that times call unchanged is proved to be, where one end is a bucket.

A LIST shows no owner's mtime of an object. The times of ``decisions`` compare two clocks, so they prove that a file
must be copied, never that it need not be. The index of an earlier run (see ``copied_index``) comes first:

| the index                                         | the pair is                                          |
|---------------------------------------------------|------------------------------------------------------|
| holds it, both ends seen and as they were         | unchanged                                            |
| differs at an end, or lacks the path              | copied                                               |
| holds it, its destination not seen after the copy | looked at; copied if it was written after that run   |
| is missing or cannot be read                      | looked at                                            |

| from, to    | shown by the listing                  | else one HEAD for each bucket end: unchanged if       |
|-------------|---------------------------------------|-------------------------------------------------------|
| mount, S3   | nothing                               | ``file-mtime`` is the file's mtime, and nothing       |
|             |                                       | that the file has is lost (``kept_attributes``)       |
| S3, mount   | the file's mtime is the Last-Modified | the file's mtime is the one that a copy gives it:     |
|             | in whole seconds: unchanged           | ``file-mtime`` or, without it, the Last-Modified      |
| S3, S3      | nothing: an ETag is that of the bytes | the destination has all metadata of the source, and   |
|             | alone                                 | the bytes are the same by the table below             |

Inside S3 the strongest proof that both objects publish decides. A weaker one is asked only where a stronger one is
missing at an end: a time shows an age, not an identity.

| both objects publish                   | equal     | not equal |
|----------------------------------------|-----------|-----------|
| checksums of the whole by one algorithm | unchanged | copied    |
| ETags that are digests of the whole    | unchanged | copied    |
| none of these, but a ``file-mtime``    | unchanged | copied    |

An ETag is no digest of the whole after an upload in parts, and under a key of KMS (``Found.etag_is_digest``).

An object whose ETag or size is not the listed one is copied, and so is a symlink at one end alone, and an object that
lost what its source has (``kept_attributes``). If a HEAD gives no proof, the pair is unchanged only if the earlier run
copied this very source and the destination was written during that run. A directory in a bucket is proved like a file;
on a mount its times alone count.

With ``attributes.mtime: now`` a copy has no mtime that its object tells, so a HEAD gives no proof.

An mtime that equals the Last-Modified to the nanosecond is trusted, though a HEAD could show another ``file-mtime``:
only a copy of this object, or somebody's intent, gives a file that time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from fanout.listing.deciding.kept_attributes import MOUNT_TELLS, loses, loses_metadata, names_of
from fanout.model.columns import FileColumns
from fanout.model.entry import SECOND_NS, Attributes, Entry, Found, Kind, whole_seconds
from fanout.request.proven_ends import Ends


class Looked(Enum):
    """The result of looking at a pair."""

    SAME = "same"
    OTHER = "other"
    NOTHING = "nothing"


def evident(ends: Ends, source: Entry, destination: Entry) -> bool:
    """Whether the listing alone proves that a file is unchanged."""
    if source.kind is Kind.DIRECTORY or ends is not Ends.S3_TO_MOUNT:
        return False
    return destination.kind is Kind.FILE and destination.mtime_ns == whole_seconds(source.changed_ns)


def evident_files(ends: Ends, source: FileColumns, destination: FileColumns) -> Sequence[bool]:
    """``evident`` for many files at once."""
    if ends is Ends.S3_TO_MOUNT:
        pairs = zip(source.changed_ns, destination.mtimes_ns, strict=True)
        return [changed_ns - changed_ns % SECOND_NS == mtime_ns for changed_ns, mtime_ns in pairs]
    return [False] * len(source)


def looked(
    ends: Ends,
    source: Entry,
    destination: Entry,
    here: Found | None,
    there: Found | None,
    *,
    copied_now: bool = False,
    mount_tells: Attributes = MOUNT_TELLS,
    given: Collection[str] = (),
) -> Looked:
    """The result of a HEAD: ``here`` of the source, ``there`` of the destination; only of ends that are buckets.

    ``copied_now``: a file whose object names no mtime has the time of its copy. ``mount_tells``: what a source that is
    a mount tells of each file, whatever the values. ``given``: headers that the request gives objects inside S3.
    """
    if ends is Ends.S3_TO_MOUNT:
        without = None if copied_now else whole_seconds(source.changed_ns)
        return _looked_at_one(here, source, destination, without)
    if ends is Ends.MOUNT_TO_S3:
        if loses(names_of(source.kind, mount_tells), mount_tells, _attributes(there)):
            return Looked.OTHER
        return _looked_at_one(there, destination, source, None)
    if here is None or there is None or not (_is_listed(here, source) and _is_listed(there, destination)):
        return Looked.OTHER
    if here.is_symlink != there.is_symlink or loses_metadata(_attributes(here), _attributes(there), given):
        return Looked.OTHER
    is_same = _same_bytes(here, there)
    if is_same is None:
        return Looked.NOTHING if here.mtime_ns is None else Looked.SAME  # equal: it is metadata
    return Looked.SAME if is_same else Looked.OTHER


def _same_bytes(here: Found, there: Found) -> bool | None:
    """Whether two objects hold the same bytes; ``None`` where they publish nothing that can be compared."""
    pairs = [(here.crc64nvme, there.crc64nvme), *((one, there.others.get(name)) for name, one in here.others.items())]
    known = [one == other for one, other in pairs if one is not None and other is not None]
    if not known and here.digest and there.digest:
        known = [here.digest == there.digest]
    return all(known) if known else None


def _attributes(found: Found | None) -> Attributes:
    return Attributes() if found is None or found.attributes is None else found.attributes


def _looked_at_one(found: Found | None, listed: Entry, file: Entry, without: int | None) -> Looked:
    """Compares an object with a file; ``without`` is the mtime to assume for an object that names none."""
    if found is None or not _is_listed(found, listed) or found.is_symlink != (file.kind is Kind.SYMLINK):
        return Looked.OTHER
    mtime_ns = without if found.mtime_ns is None else found.mtime_ns
    if mtime_ns is None:
        return Looked.NOTHING
    return Looked.SAME if mtime_ns == file.mtime_ns else Looked.OTHER


def _is_listed(found: Found, listed: Entry) -> bool:
    return (found.entry.etag, found.entry.size) == (listed.etag, listed.size)
