"""How a request treats archived objects of its source: the one table, and how S3 restores them.

| archived | a copy makes of an object in an archive | its copy is | ``mode: verify``       |
|----------|----------------------------------------|-------------|------------------------|
| fail     | a failed entry                         | kept        | the same               |
| skip     | a skipped entry                        | kept        | the same               |
| restore  | a copy, once S3 has restored it        | written     | refuses the value      |
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from fanout.facts import archives
from fanout.model.errors import InvalidRequest, ItemError
from fanout.model.location import Location
from fanout.model.outcome import Reason
from fanout.request.course import Course
from fanout.request.fields.traits import OBJECTS, Traits


class ArchivedPolicy(StrEnum):
    """The policy for objects of the source that lie in an archive and are not restored."""

    FAIL = "fail"
    SKIP = "skip"
    RESTORE = "restore"


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
        Traits(OBJECTS),
    ] = Tier.STANDARD
    days: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_DAYS,
            description="how long S3 keeps the restored copy of an object in GLACIER or DEEP_ARCHIVE, at the price of"
            " STANDARD",
        ),
        Traits(OBJECTS),
    ] = DAYS

    def refusal(self, archive: str) -> ItemError | None:
        """Why objects of an archive cannot be restored so; ``None`` where they can."""
        if self.tier.value in archives.SECONDS.get(archive, {self.tier.value: 0.0}):
            return None
        others = f"request restore.tier: {Tier.STANDARD.value} or {Tier.BULK.value}"
        return ItemError(Reason.NOT_RESTORED, f"{archive} has no tier {self.tier.value}; {others}")

    def seconds_from(self, archive: str) -> float:
        """How long S3 takes at most, as it says is typical; 0 for nothing that is restored."""
        return archives.SECONDS.get(archive, {}).get(self.tier.value, 0.0)


class HeldRule(Struct, frozen=True):
    """The table above, of a request that says so; an entry is held that lies in an archive."""

    policy: ArchivedPolicy
    restore: Restore

    @property
    def left_out(self) -> frozenset[Reason]:
        """The reasons for which an entry is skipped, that is failed otherwise."""
        return frozenset({Reason.SOURCE_ARCHIVED} if self.policy is ArchivedPolicy.SKIP else ())

    @property
    def not_compared(self) -> tuple[str, str]:
        """The entries that a verification leaves out with ``skip``, and why."""
        return "archived objects", "the request skips them, and S3 reads none from there"

    def brings_back(self, course: Course) -> bool:
        """Whether a run has the entries brought back; never in a verification, which copies nothing."""
        return self.policy is ArchivedPolicy.RESTORE and not course.compares

    def refusal(self, held: str) -> ItemError | None:
        """Why what holds an entry does not give it back; ``None`` where it does, or nothing holds the entry."""
        return self.restore.refusal(held) if held else None

    def check(self, source: Location, course: Course) -> None:
        """Raise ``InvalidRequest`` for fields that the source or the mode has no use for."""
        if self.policy is not ArchivedPolicy.FAIL and not source.is_keyed:
            problem = f"the source {source} holds no objects"
            raise InvalidRequest("archived", problem, "leave it out, or name s3://")
        if self.policy is ArchivedPolicy.RESTORE and course.compares:
            problem = "mode verify has nothing restored"
            raise InvalidRequest("archived", problem, "with it, fail and skip are allowed")
        if self.restore != Restore() and self.policy is not ArchivedPolicy.RESTORE:
            problem = f"archived is {self.policy.value}, so nothing is restored"
            raise InvalidRequest("restore", problem, "leave it out, or name archived: restore")
