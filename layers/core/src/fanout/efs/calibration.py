"""The results of a probe that a plan uses: ``calibration`` of probe.json.

| what                                      | from                                                      |
|-------------------------------------------|-----------------------------------------------------------|
| seconds of an entry                       | a small file, and each further call of a copy, as long    |
|                                           | as a create, over the operations that a client has in flight |
| bytes a second of one function            | what one wrote or read, not over the network of a function |
| bytes a second of the file system at most | what several functions wrote, once more of them gain little |
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from fanout.efs.seconds import DEFAULT_RATES, INSIDE_S3_RATES, operations_of
from fanout.facts import aws, tuning
from fanout.facts.operations import OPERATIONS_PER_FILE, SMALL_WRITE_OPERATIONS
from fanout.model.location import Location
from fanout.model.shard import CREATIONS_PER_SECOND, Rates
from fanout.request.request import Request

# Chosen: where twice the functions write less than this much more, the file system is at its limit.
GAIN_AT_LIMIT = 1.25

# A measured value is positive and finite; reading refuses any other.
Rate = Annotated[float, Meta(gt=0, le=sys.float_info.max)]


class Calibration(Struct, frozen=True):
    """Medians of a probe: bytes a second, seconds, and creations a second in one directory.

    ``small_write_seconds`` is a file of 4 KiB created, written and closed. ``functions`` is what so many functions
    wrote together, bytes a second.
    """

    write_bytes_per_second_client: Rate
    write_bytes_per_second_file: Rate
    read_bytes_per_second_client: Rate
    create_seconds: Rate
    small_write_seconds: Rate
    creations_per_second_directory: Rate
    functions: Mapping[int, Rate] = field(default_factory=dict)

    @property
    def seconds_per_entry(self) -> float:
        """Seconds that one function takes for an entry without its bytes, with all its operations in flight."""
        more = OPERATIONS_PER_FILE - SMALL_WRITE_OPERATIONS
        return (self.small_write_seconds + more * self.create_seconds) / tuning.CLIENT_OPERATIONS_IN_FLIGHT

    @property
    def limit_bytes_per_second(self) -> float | None:
        """The highest rate of the file system; ``None`` if the probe's functions did not reach its limit."""
        numbers = sorted(self.functions)
        if len(numbers) < 2:
            return None
        before, last = numbers[-2:]
        wanted = 1 + (GAIN_AT_LIMIT - 1) * (last / before - 1)  # a gain of 1.25 for twice as many functions
        reached = self.functions[last] < wanted * self.functions[before]
        return max(self.functions.values()) if reached else None


def calibrated_rates(published: Rates, source: Calibration | None, destination: Calibration | None) -> Rates:
    """The rates of one function between two ends: the published figures, where a file system has no calibration.

    Bytes pass both ends, so the slower one counts; the entries' operations are nearly all at the destination.
    """
    network = float(aws.LAMBDA_NETWORK_BYTES_PER_SECOND)
    rates = [network] if source or destination else [published.bytes_per_second]
    rates += [source.read_bytes_per_second_client] if source else []
    rates += [destination.write_bytes_per_second_client] if destination else []
    seconds = destination.seconds_per_entry if destination else published.seconds_per_entry
    return Rates(seconds_per_entry=seconds, bytes_per_second=min(rates))


def rates_of(request: Request, calibrations: Mapping[str, Calibration]) -> Rates:
    """The rates of one function: the published figures, or those that a probe of the file systems measured."""
    if request.inside_s3:
        return INSIDE_S3_RATES
    source, destination = (calibration_at(end, calibrations) for end in (request.source, request.destination))
    rates = calibrated_rates(DEFAULT_RATES, source, destination)
    if request.destination.is_keyed:
        return rates
    each = destination.create_seconds if destination else aws.EFS_WRITE_SECONDS
    more = (operations_of(request) - OPERATIONS_PER_FILE) * each / tuning.CLIENT_OPERATIONS_IN_FLIGHT
    return replace(rates, seconds_per_entry=rates.seconds_per_entry + more)


def creations_of(request: Request, calibrations: Mapping[str, Calibration]) -> float:
    """Creations a second that one directory of the destination takes: the published figure, or what a probe found."""
    there = calibration_at(request.destination, calibrations)
    return there.creations_per_second_directory if there else CREATIONS_PER_SECOND


def calibration_at(end: Location, calibrations: Mapping[str, Calibration]) -> Calibration | None:
    """The calibration of an end's file system; ``None`` for a bucket or without a probe."""
    return calibrations.get(end.mount) if not end.is_keyed else None
