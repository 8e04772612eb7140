"""How a run has S3 restore archived objects."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from fanout.facts import archives
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason


class Tier(StrEnum):
    """How fast S3 restores, and at what price (RestoreObject's ``Tier``)."""

    STANDARD = "standard"
    BULK = "bulk"
    EXPEDITED = "expedited"


# Chosen: time for the copy, for a verification, and for a retry after a weekend. S3 names no most.
DAYS, MOST_DAYS = 7, 365


class Restore(Struct, frozen=True, forbid_unknown_fields=True):
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

    def refusal(self, archive: str) -> ItemError | None:
        """Why objects of an archive cannot be restored as the request says; ``None`` where they can."""
        if self.tier.value in archives.SECONDS.get(archive, {self.tier.value: 0.0}):
            return None
        others = f"request restore.tier: {Tier.STANDARD.value} or {Tier.BULK.value}"
        return ItemError(Reason.NOT_RESTORED, f"{archive} has no tier {self.tier.value}; {others}")

    def seconds_from(self, archive: str) -> float:
        """How long S3 takes at most, as it says is typical; 0 for nothing that is restored."""
        return archives.SECONDS.get(archive, {}).get(self.tier.value, 0.0)
