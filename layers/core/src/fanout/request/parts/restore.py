"""How a run has S3 restore archived objects."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class Tier(StrEnum):
    """How fast S3 restores, and at what price (RestoreObject's ``Tier``)."""

    STANDARD = "standard"
    BULK = "bulk"
    EXPEDITED = "expedited"


# Chosen: time for the copy, for a verification, and for a retry after a weekend. S3 names no most.
DAYS, MOST_DAYS = 7, 365


class Restore(Struct, frozen=True, forbid_unknown_fields=True):
    """Tier and days of a restoration."""

    tier: Annotated[
        Tier,
        Meta(
            description="standard: GLACIER within 5 hours, DEEP_ARCHIVE within 12; bulk: the cheapest, within 12 and 48"
            " hours; expedited: minutes, at a high price; DEEP_ARCHIVE has no expedited"
        ),
    ] = Tier.STANDARD
    days: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_DAYS,
            description="how long S3 keeps the restored copy of an object in GLACIER or DEEP_ARCHIVE, at the price of"
            " STANDARD",
        ),
    ] = DAYS
