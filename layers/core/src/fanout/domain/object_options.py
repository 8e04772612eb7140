"""What a request asks of the objects that it writes."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class ContentType(StrEnum):
    """Where the Content-Type of a file's object comes from; an object's own one always stays."""

    GUESS = "guess"
    NONE = "none"


class ObjectOptions(Struct, frozen=True):
    """Storage class and KMS key, empty for the bucket's defaults, and the Content-Type of files."""

    storage_class: str = ""
    kms_key_id: str = ""
    content_type: ContentType = ContentType.GUESS
