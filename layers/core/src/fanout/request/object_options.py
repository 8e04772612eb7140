"""Options of the objects that a run writes.

| what           | from a mount                                | inside S3                                       |
|----------------|---------------------------------------------|-------------------------------------------------|
| tags           | those of the request                        | those of the source, and over them the request's |
| user metadata  | that of the file, and the request's as well   | that of the source, and over it the request's   |

Limits of S3: docs.aws.amazon.com/AmazonS3/latest/userguide, object-tagging and UsingMetadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import quote

from msgspec import Struct, field

from fanout.model.errors import InvalidRequest

TAGS = 10
_TAG_NAME, _TAG_VALUE = 128, 256
# Chosen: leaves 2 KiB for all other headers than the metadata; S3 takes 8 KB of headers.
_TAG_BYTES = 4096
_METADATA_BYTES = 2048
USER_PREFIX = "x-amz-meta-"
# Metadata of a file that the run writes itself: names as in adapters/s3/metadata.py.
_OWN_METADATA = frozenset({"file-owner", "file-group", "file-permissions", "file-mtime", "file-atime"})
# Names and the longest values of these.
_OWN_BYTES = 128
_METADATA_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_PRINTABLE = re.compile(r"[!-~]([ -~]*[!-~])?")


class ContentType(StrEnum):
    """Where the Content-Type of a file's object comes from; an object's own one always stays."""

    GUESS = "guess"
    NONE = "none"


class ObjectOptions(Struct, frozen=True):
    """Storage class, KMS key and canned ACL (empty: the bucket's default), Content-Type, tags and user metadata.

    Names of metadata come without ``x-amz-meta-``.
    """

    storage_class: str = ""
    kms_key_id: str = ""
    content_type: ContentType = ContentType.GUESS
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    acl: str = ""


def metadata_headers(options: ObjectOptions) -> dict[str, str]:
    """The headers of the metadata that each object gets."""
    return {USER_PREFIX + name: value for name, value in options.metadata.items()}


def tagging_text(tags: Mapping[str, str]) -> str:
    """Tags as a header carries them."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in tags.items())


def check_tags(name_of_field: str, tags: Mapping[str, str]) -> None:
    """Raise ``InvalidRequest`` for tags that S3 does not take."""
    if len(tags) > TAGS:
        raise InvalidRequest(name_of_field, f"{len(tags)} tags are over the {TAGS} of an object", "name fewer")
    for name, value in tags.items():
        if name.startswith("aws:"):
            raise InvalidRequest(name_of_field, f"{name!r} begins with aws:, which AWS keeps for itself", "rename it")
        fits = all(char.isalnum() or char in " +-=._:/@" for char in name + value)
        if not 1 <= len(name) <= _TAG_NAME or len(value) > _TAG_VALUE or not fits:
            allowed = (
                f"1 to {_TAG_NAME} characters, a value of at most {_TAG_VALUE}: letters, digits, space, + - = . _ : / @"
            )
            raise InvalidRequest(name_of_field, f"{name[:80]!r}: {value[:80]!r} is not a tag", f"allowed are {allowed}")
    length = len(tagging_text(tags))
    if length > _TAG_BYTES:
        problem = f"the tags take {length} bytes of a header, over {_TAG_BYTES}"
        raise InvalidRequest(
            name_of_field, problem, "name fewer or shorter ones; a letter outside ASCII takes 6 or more"
        )


def check_metadata(name_of_field: str, metadata: Mapping[str, str], *, of_files: bool) -> None:
    """Raise ``InvalidRequest`` for user metadata that S3 does not take, or that a run writes itself.

    ``of_files``: a run adds the attributes of a file to it.
    """
    for name, value in metadata.items():
        if name in _OWN_METADATA:
            raise InvalidRequest(name_of_field, f"{name!r} is what a run writes of the file", "choose another name")
        if name.startswith(USER_PREFIX) or not _METADATA_NAME.fullmatch(name):
            allowed = f"lower-case letters, digits, . _ and -, without {USER_PREFIX}"
            raise InvalidRequest(name_of_field, f"{name[:80]!r} is not a name of metadata", f"allowed are {allowed}")
        if not _PRINTABLE.fullmatch(value):
            problem = f"{value[:80]!r}, the value of {name!r}, cannot be in a header"
            raise InvalidRequest(
                name_of_field, problem, "allowed are printable ASCII characters, no space at either end"
            )
    size = sum(len(name) + len(value) for name, value in metadata.items())
    most = _METADATA_BYTES - (_OWN_BYTES if of_files else 0)
    if size > most:
        reserved = f": {_OWN_BYTES} of the {_METADATA_BYTES} are for modes, owners and times" if of_files else ""
        problem = f"names and values have {size} bytes, over {most}{reserved}"
        raise InvalidRequest(name_of_field, problem, "name fewer or shorter ones")
