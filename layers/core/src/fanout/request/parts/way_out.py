"""The way of a stack's functions to what lies beyond the S3 of their own region."""

from __future__ import annotations

from enum import StrEnum


class WayOut(StrEnum):
    """The runs that reach it, as the template's parameter WayOut says.

    A gateway endpoint of S3, which is all that the network of a mount needs, leads to its own region alone. Between two
    buckets functions outside the network work; those on mounts need another way, such as a NAT gateway.
    """

    NONE = "none"
    BUCKETS = "buckets"
    MOUNTS = "mounts"

    def reaches(self, *, inside_s3: bool) -> bool:
        """Whether a run between two buckets, or else one with a mount, has a way out of the region."""
        return self is WayOut.MOUNTS or (inside_s3 and self is WayOut.BUCKETS)
