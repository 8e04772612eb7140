"""Whether two ends hold the same object, as far as their own marks say."""

from __future__ import annotations

# An entry written at the destination less than this after its source changed may hold the bytes before that.
MARGIN_NS = 1_000_000_000


def same_simple_etag(source: str, destination: str) -> bool:
    """Whether two ETags are equal and cover whole bytes; the ETag of a multipart upload holds a hyphen."""
    return bool(source) and source == destination and "-" not in source
