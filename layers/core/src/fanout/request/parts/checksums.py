"""Where the checksum of an object comes from that S3 keeps none of."""

from __future__ import annotations

from enum import StrEnum


class Checksums(StrEnum):
    """Read: a function reads the object. Computed: S3 computes it, by a job of S3 Batch Operations."""

    READ = "read"
    COMPUTED = "computed"
