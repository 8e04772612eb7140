"""How the bucket of an end is asked."""

from __future__ import annotations

from msgspec import Struct


class BucketOptions(Struct, frozen=True):
    """Who pays for the requests to a bucket, and the account that must own it; empty for any."""

    requester_pays: bool = False
    expected_owner: str = ""
