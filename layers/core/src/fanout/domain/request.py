"""A request, validated: what the plan is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from fanout.domain import limits
from fanout.domain.decisions import Compare
from fanout.domain.errors import InvalidRequest
from fanout.domain.locations import Location, MountLocation, S3Location, overlap
from fanout.domain.naming import OnConflict
from fanout.domain.object_options import ObjectOptions


class Symlinks(StrEnum):
    """What becomes of a symlink of the source."""

    KEEP = "keep"
    FOLLOW = "follow"
    SKIP = "skip"


class Mode(StrEnum):
    """What the run does: copy what is new or changed, or only compare both ends by checksum."""

    COPY = "copy"
    VERIFY = "verify"


# What can be done where a function sees one end alone.
BETWEEN_MOUNTS = frozenset({Mode.COPY, Mode.VERIFY})


class Verify(StrEnum):
    """What a copy verifies afterwards: nothing more, what it copied, or both whole trees."""

    NONE = "none"
    COPIED = "copied"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the run may use. ``max_concurrency`` counts functions, ``shard_seconds`` is a shard's predicted time.

    A file of at least ``split_bytes`` is copied in blocks by several functions.
    """

    max_concurrency: int
    shard_seconds: float = 60.0
    split_bytes: int = limits.SPLIT_BYTES


@dataclass(frozen=True, slots=True)
class Request:
    """One transfer."""

    source: Location
    destination: Location
    compare: Compare
    limits: Limits
    mode: Mode = Mode.COPY
    verify: Verify = Verify.NONE
    symlinks: Symlinks = Symlinks.KEEP
    on_conflict: OnConflict = OnConflict.FAIL
    objects: ObjectOptions = field(default_factory=ObjectOptions)

    @property
    def inside_s3(self) -> bool:
        """Whether both ends lie in S3, which then copies by itself."""
        return isinstance(self.source, S3Location) and isinstance(self.destination, S3Location)

    @property
    def between_mounts(self) -> bool:
        """Whether the ends lie on two mounts, of which no function sees both."""
        source, destination = self.source, self.destination
        if isinstance(source, MountLocation) and isinstance(destination, MountLocation):
            return source.mount != destination.mount
        return False


def keeps_hard_links(request: Request) -> bool:
    """Whether names of one file at the source become names of one file at the destination."""
    return isinstance(request.source, MountLocation) and isinstance(request.destination, MountLocation)


def check_request(request: Request) -> None:
    """Raise ``InvalidRequest`` for ends that can not be combined."""
    if overlap(request.source, request.destination):
        raise InvalidRequest(
            "destination",
            f"{request.destination} is equal to, inside or above the source {request.source}",
            "name a tree that shares no entry with the source",
        )
    if request.between_mounts and request.mode not in BETWEEN_MOUNTS:
        allowed = ", ".join(sorted(BETWEEN_MOUNTS))
        problem = f"{request.mode.value} is not possible from {request.source} to {request.destination}"
        raise InvalidRequest("mode", problem, f"allowed between two mounts are {allowed}")
    same_scheme = isinstance(request.source, S3Location) == isinstance(request.destination, S3Location)
    if same_scheme and request.on_conflict in (OnConflict.ESCAPE, OnConflict.UNESCAPE):
        problem = f"there is nothing to {request.on_conflict.value} from {request.source} to {request.destination}"
        raise InvalidRequest("on_conflict", problem, "allowed between ends of one kind are fail and skip")
    if request.limits.shard_seconds > limits.LAMBDA_TIMEOUT_SECONDS / 2:
        raise InvalidRequest("limits.shard_seconds", "is over half of what a function has", "at most 450")
