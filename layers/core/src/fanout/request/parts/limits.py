"""The most that a run may use and delete: as a request says, as the stack's functions and the account allow."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from fanout.facts import aws, tuning
from fanout.facts.tuning import LEAST_BYTES_PER_SECOND, LEAST_FILES_PER_SECOND, MOST_PER_SECOND
from fanout.request.fields.traits import COMMON, DELETING, SPEED, Traits

MB_PER_GB = 1000  # as Lambda bills


class FunctionSize(Struct, frozen=True):
    """The most that a function that lists, copies or verifies may take, as the template's parameters set it."""

    seconds: int = aws.FUNCTION_SECONDS
    megabytes: int = tuning.FUNCTION_MEGABYTES

    @property
    def gigabytes(self) -> float:
        """The memory, as Lambda bills it."""
        return self.megabytes / MB_PER_GB

    @property
    def shard_seconds(self) -> float:
        """The most predicted seconds of a shard: half of a function's time, because predictions err."""
        return self.seconds / 2


# Where the stack is not known: what one of any size may be asked.
LARGEST = FunctionSize(seconds=aws.FUNCTION_SECONDS_MOST)


# Chosen: burst credits that stay for others.
CREDIT_RESERVE_PERCENT = 20.0
# Chosen: what a sync of a day may delete without being asked.
DEFAULT_PERCENT = 10.0
# Marks a field that also takes text with a unit.
UNITS = {"units": True}
# And behind it "/s".
RATES = {**UNITS, "per": "/s"}


class OnNotHoldable(StrEnum):
    """The policy of a move for entries of which the destination cannot hold all that the source publishes."""

    LEAVE = "leave"
    ALLOW = "allow"


class DeleteGuard(Struct, frozen=True, forbid_unknown_fields=True):
    """The most that a sync deletes at the destination, or a move at the source: so many entries, so many percent."""

    max_count: (
        Annotated[
            int,
            Meta(
                ge=0, description="entries that a sync or a move deletes at most; default: no such limit", extra=UNITS
            ),
            Traits(DELETING, at=1, option="max-delete"),
        ]
        | None
    ) = None
    max_percent: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=100,
                description="a sync that would delete more than this percent of the destination's entries, as"
                f" filtered, is refused; default: {DEFAULT_PERCENT:g}; not for a move",
            ),
            Traits(DELETING, at=1, option="max-delete-percent"),
        ]
        | None
    ) = None


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a run. ``max_concurrency`` is 0 in a request that leaves it to the stack, never in a plan.

    ``bytes_per_second`` and ``files_per_second`` hold over all functions that copy, verify or delete at the same time.
    """

    max_concurrency: Annotated[
        int,
        Meta(ge=1, le=aws.MAP_CONCURRENCY, description="functions that copy at once; default: the stack's"),
        Traits(SPEED, at=-1, words=("transfers", "checkers", "concurrency", "numworkers", "threads")),
    ] = 0
    shard_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=aws.FUNCTION_SECONDS_MOST / 2,
            description="predicted seconds of a shard, at most half of the stack's FunctionSeconds",
        ),
        Traits(SPEED, at=2),
    ] = 60.0
    split_bytes: Annotated[
        int,
        Meta(
            ge=tuning.BLOCK_BYTES,
            description="a file of this size is copied in blocks by several functions",
            extra=UNITS,
        ),
        Traits(SPEED, at=2, value="SIZE"),
    ] = tuning.SPLIT_BYTES
    credit_reserve_percent: Annotated[
        float,
        Meta(
            ge=0,
            le=100,
            description="burst credits that stay for others, percent of the most",
        ),
        Traits(SPEED, at=1),
    ] = CREDIT_RESERVE_PERCENT
    bytes_per_second: (
        Annotated[
            float,
            Meta(
                ge=LEAST_BYTES_PER_SECOND,
                le=MOST_PER_SECOND,
                description="bytes a second, all functions together; default: no limit",
                extra=RATES,
            ),
            Traits(
                COMMON,
                at=2,
                option="rate",
                value="SIZE",
                words=("bwlimit", "bandwidth", "bandwidth_limit", "max_bandwidth"),
            ),
        ]
        | None
    ) = None
    max_seconds: (
        Annotated[
            float,
            Meta(ge=1, description="the run stops cleanly after so long, and can be resumed; default: no such limit"),
            Traits(SPEED, words=("max_duration",)),
        ]
        | None
    ) = None
    max_dollars: (
        Annotated[
            float,
            Meta(
                ge=0.01,
                description="a run whose forecast is over it is refused; one that has spent it stops cleanly, to be"
                " resumed; default: no such limit",
            ),
            Traits(SPEED),
        ]
        | None
    ) = None
    finish_by: Annotated[
        str,
        Meta(
            description='the cheapest plan that ends by then is taken, and a run refused where none does: "4h" from its'
            ' begin, "06:00 Europe/Berlin", which comes next, or an ISO 8601 time; default: no such time'
        ),
        Traits(SPEED, value="TIME"),
    ] = ""
    window: Annotated[
        str,
        Meta(
            description='the run works only in these hours: "22:00-06:00 Europe/Berlin", or with the days on which it'
            ' opens "Mon-Fri 22:00-06:00 Europe/Berlin"; default: always'
        ),
        Traits(SPEED, value="HOURS"),
    ] = ""
    files_per_second: (
        Annotated[
            float,
            Meta(
                ge=LEAST_FILES_PER_SECOND,
                le=MOST_PER_SECOND,
                description="entries a second of all functions together; default: no limit",
                extra=RATES,
            ),
            Traits(SPEED, at=-1, words=("tpslimit",)),
        ]
        | None
    ) = None


# Chosen: PaceCopy runs while functions copy, and one more is for whatever else the account runs.
LEAST_FOR_OTHERS: Final = 2
# Chosen: one in so many stays for others.
SHARE_FOR_OTHERS: Final = 10


def most_functions(unreserved: int) -> int:
    """The most functions of a run at once, where Lambda lets ``unreserved`` run without a reservation.

    A tenth, and 2 at least, stay for other functions of the account.
    """
    return max(1, unreserved - max(LEAST_FOR_OTHERS, -(-unreserved // SHARE_FOR_OTHERS)))
