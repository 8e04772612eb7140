"""The options of a request that are words, and the guard of a deletion."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class OnConflict(StrEnum):
    """What is done with names that the destination cannot hold."""

    FAIL = "fail"
    SKIP = "skip"
    ESCAPE = "escape"
    UNESCAPE = "unescape"


DEFAULT_PERCENT = 10.0


class DeleteGuard(Struct, frozen=True):
    """The most that a sync deletes: so many entries, and so many percent of the destination's entries."""

    max_count: int | None = None
    max_percent: float = DEFAULT_PERCENT


class Compare(StrEnum):
    """How entries at both ends are compared."""

    SIZE_MTIME = "size-mtime"
    CHECKSUM = "checksum"
    ALWAYS = "always"
