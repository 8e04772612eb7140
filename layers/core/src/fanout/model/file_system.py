"""The known state of a file system: its kind, its mode, its measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from fanout.model.document import Lasting
from fanout.model.path_rules import PlainNameOrNone

# docs.aws.amazon.com/efs/latest/ug/efs-metrics.html; a minute each.
CREDITS = "BurstCreditBalance"
PERMITTED = "PermittedThroughput"
IO_LIMIT = "PercentIOLimit"
METERED = "MeteredIOBytes"
METRICS = (CREDITS, PERMITTED, IO_LIMIT, METERED)
PERIOD_SECONDS = 60
# Chosen: how far back a plan looks.
LOOK_BACK_SECONDS = 3 * 3600


class ThroughputMode(StrEnum):
    """How a file system's throughput is set; ``ASSUMED`` where it could not be asked."""

    BURSTING = "bursting"
    PROVISIONED = "provisioned"
    ELASTIC = "elastic"
    ASSUMED = "assumed"


class Reading(Struct, frozen=True):
    """A value of a metric and its time in seconds since 1970.

    The value is in bytes of credit, bytes a second, percent, or bytes.
    """

    at: float
    value: float


class Staged(Lasting, frozen=True):
    """The directory that a run stages in at an end, as CheckMount made it: its inode, and the user who owns it.

    The ledger holds it, so that no function takes another directory of that name for it. ``mark`` is the name of a
    file in it that nobody can guess: an inode that was removed gives its number to another one.
    """

    inode: str
    owner: int
    mark: PlainNameOrNone = ""


class Described(Struct, frozen=True):
    """A file system as EFS describes it; sizes by storage class in bytes."""

    mode: ThroughputMode
    performance_mode: str
    one_zone: bool
    standard_bytes: int
    infrequent_bytes: int
    archive_bytes: int
    provisioned_bytes_per_second: float


Readings = Mapping[str, Sequence[Reading]]


class Behind(Struct, frozen=True):
    """The place in S3 that a mount of S3 Files shows: its root holds the keys below ``prefix``.

    ``bucket`` is empty where the service did not tell.
    """

    bucket: str = ""
    prefix: str = ""
