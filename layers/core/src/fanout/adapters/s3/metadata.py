"""Attributes as S3 object headers, and back; the Content-Type of a file's name.

POSIX attributes have the keys that AWS's own services (S3 Files, FSx, File Cache,
DataSync) read and write. Header names are lower-case.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from fanout.facts.holdings import KEPT_HEADERS, REDIRECT, TAG_COUNT
from fanout.model.entry import Attributes
from fanout.request.object_options import TAGS, USER_PREFIX, ObjectOptions, metadata_headers, tagging_text

OWNER = USER_PREFIX + "file-owner"
GROUP = USER_PREFIX + "file-group"
PERMISSIONS = USER_PREFIX + "file-permissions"
MTIME = USER_PREFIX + "file-mtime"
ATIME = USER_PREFIX + "file-atime"

# The header of each field of ``Attributes``.
_HEADERS = {"mode": PERMISSIONS, "uid": OWNER, "gid": GROUP, "mtime_ns": MTIME, "atime_ns": ATIME}
_POSIX_HEADERS = frozenset(_HEADERS.values())
_NANOSECONDS_A_MILLISECOND = 1_000_000
_MODE_LIMIT = 0o200000
# chown(2) takes the last number, (uid_t)-1, for "leave as it is".
_ID_LIMIT = 2**32 - 1
_NUMBER_DIGITS = 20
# A file system keeps seconds of 64 bits and nanoseconds below them: 1601 (FILETIME zero) and 9999 are common.
_TIME_LIMIT = 2**63 * 1_000_000_000
_TIME_DIGITS = 28
# Digits of octal modes without a 0 before them: 644, 1777, and 100644, as people write it for DataSync. Five digits may
# be a whole st_mode in decimal, which six cannot: none is over 65535.
_BARE_MODE_DIGITS = (3, 4, 6)


def to_headers(attributes: Attributes) -> dict[str, str]:
    """The headers that carry the attributes; what is ``None`` is left out."""
    headers = dict(attributes.headers)
    if attributes.uid is not None:
        headers[OWNER] = str(attributes.uid)
    if attributes.gid is not None:
        headers[GROUP] = str(attributes.gid)
    if attributes.mode is not None:
        headers[PERMISSIONS] = f"0{attributes.mode:06o}"
    if attributes.mtime_ns is not None:
        headers[MTIME] = f"{attributes.mtime_ns}ns"
    if attributes.atime_ns is not None:
        headers[ATIME] = f"{attributes.atime_ns}ns"
    return headers


def from_headers(headers: Mapping[str, str]) -> Attributes:
    """The attributes that the headers carry, and the values that cannot be read."""
    found = Attributes(
        mode=_mode(headers.get(PERMISSIONS)),
        uid=_number(headers.get(OWNER), limit=_ID_LIMIT),
        gid=_number(headers.get(GROUP), limit=_ID_LIMIT),
        mtime_ns=_nanoseconds(headers.get(MTIME)),
        atime_ns=_nanoseconds(headers.get(ATIME)),
        headers={name: headers[name] for name in _own(tuple(headers))},
    )
    unreadable = {
        name: headers[header] for name, header in _HEADERS.items() if header in headers and getattr(found, name) is None
    }
    if unreadable:
        found.unreadable = unreadable
    if TAG_COUNT in headers:
        found.tags = _number(headers[TAG_COUNT], limit=TAGS + 1) or TAGS
    return found


@lru_cache(maxsize=256)
def _own(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the headers that are kept; cached, because most objects of a tree have the same."""
    return tuple(
        name for name in names if name in KEPT_HEADERS or (name.startswith(USER_PREFIX) and name not in _POSIX_HEADERS)
    )


def carried_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a copy has from its source, for a request that names them all."""
    return {name: value for name, value in headers.items() if name in KEPT_HEADERS or name.startswith(USER_PREFIX)}


def redirect_header(headers: Mapping[str, str]) -> dict[str, str]:
    """The header that CopyObject does not carry over: a website redirect, which the request has to name."""
    return {REDIRECT: headers[REDIRECT]} if REDIRECT in headers else {}


def tagging_header(tags: Mapping[str, str]) -> dict[str, str]:
    """The header that gives an object its tags; none for no tags."""
    return {"x-amz-tagging": tagging_text(tags)} if tags else {}


def write_headers(options: ObjectOptions) -> dict[str, str]:
    """The headers of every object that is written: storage class, encryption, ACL, tags and user metadata.

    The bucket key spares a call of KMS, and its price and limit, for nearly every object.
    """
    headers = {**metadata_headers(options), **tagging_header(options.tags)}
    if options.acl:
        headers["x-amz-acl"] = options.acl
    if options.storage_class:
        headers["x-amz-storage-class"] = options.storage_class
    if options.kms_key_id:
        headers["x-amz-server-side-encryption"] = "aws:kms"
        headers["x-amz-server-side-encryption-aws-kms-key-id"] = options.kms_key_id
        headers["x-amz-server-side-encryption-bucket-key-enabled"] = "true"
    return headers


def _mode(text: str | None) -> int | None:
    """A mode in octal: ``0100644`` as AWS's services and this product write it, ``644`` or ``100644``."""
    if text and not text.startswith("0") and len(text) not in _BARE_MODE_DIGITS:
        return None
    return _number(text, base=8, limit=_MODE_LIMIT)


def _number(text: str | None, *, limit: int, base: int = 10, digits: int = _NUMBER_DIGITS) -> int | None:
    if not text or len(text) > digits or not (text.isascii() and text.isdigit()):
        return None
    try:
        value = int(text, base)
    except ValueError:  # 8 or 9 in an octal number
        return None
    return value if value < limit else None


def _nanoseconds(text: str | None) -> int | None:
    if not text:
        return None
    digits = text.removesuffix("ns")
    value = _number(digits.removeprefix("-"), limit=_TIME_LIMIT + 1, digits=_TIME_DIGITS)
    if value is None:
        return None
    value = -value if digits.startswith("-") else value
    nanoseconds = value if text.endswith("ns") else value * _NANOSECONDS_A_MILLISECOND
    return nanoseconds if -_TIME_LIMIT <= nanoseconds < _TIME_LIMIT else None


def content_type_header(path: str) -> dict[str, str]:
    """The header for a path; none for a name that says nothing, to which S3 gives its default."""
    from fanout.facts.content_types import content_type_of  # only uploads need it

    found = content_type_of(path)
    return {"content-type": found} if found else {}
