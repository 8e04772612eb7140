"""What a probe found out about a file system, as far as a plan uses it: ``calibration`` of probe.json.

| what                                      | from                                                      |
|-------------------------------------------|-----------------------------------------------------------|
| seconds of an entry                       | a small file, and the 2.5 operations more that a copy has, |
|                                           | over the operations that a client has in flight           |
| bytes a second of one function            | what one wrote or read, not over the network of a function |
| bytes a second of the file system at most | what several functions wrote, once more of them gain little |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from fanout.facts import limits
from fanout.model.errors import InvalidRequest
from fanout.model.location import Location, MountLocation
from fanout.model.shard import CREATIONS_PER_SECOND, OPERATIONS_PER_FILE, Rates
from fanout.request.request import Request
from fanout.shards.seconds import DEFAULT_RATES, INSIDE_S3_RATES

SCHEMA_VERSION = 1
# Create, write and close: what ``small_write_seconds`` has of a file's operations. The others take as long as a create.
SMALL_WRITE_OPERATIONS = 3
# Chosen: where twice the functions write less than this much more, the file system is at its limit.
GAIN_AT_LIMIT = 1.25

_RATES = (
    "write_bytes_per_second_client",
    "write_bytes_per_second_file",
    "read_bytes_per_second_client",
    "create_seconds",
    "small_write_seconds",
    "creations_per_second_directory",
)


class Calibration(Struct, frozen=True):
    """Medians of a probe: bytes a second, seconds, and creations a second in one directory.

    ``small_write_seconds`` is a file of 4 KiB created, written and closed. ``functions`` is what so many functions
    wrote together, bytes a second. ``probe`` is the id of the probe, ``at`` its end in seconds since 1970.
    """

    write_bytes_per_second_client: float
    write_bytes_per_second_file: float
    read_bytes_per_second_client: float
    create_seconds: float
    small_write_seconds: float
    creations_per_second_directory: float
    functions: Mapping[int, float] = field(default_factory=dict)
    probe: str = ""
    at: float = 0.0

    @property
    def seconds_per_entry(self) -> float:
        """Seconds that one function takes for an entry, beside its bytes, with all its operations in flight."""
        more = OPERATIONS_PER_FILE - SMALL_WRITE_OPERATIONS
        return (self.small_write_seconds + more * self.create_seconds) / limits.CLIENT_OPERATIONS_IN_FLIGHT

    @property
    def limit_bytes_per_second(self) -> float | None:
        """What the file system takes at most; ``None`` if the probe's functions did not reach its limit."""
        numbers = sorted(self.functions)
        if len(numbers) < 2:
            return None
        before, last = numbers[-2:]
        wanted = 1 + (GAIN_AT_LIMIT - 1) * (last / before - 1)  # a gain of 1.25 for twice as many functions
        reached = self.functions[last] < wanted * self.functions[before]
        return max(self.functions.values()) if reached else None


def calibration_row(found: Calibration) -> dict[str, Any]:
    """``calibration`` of probe.json."""
    functions = {str(number): round(rate) for number, rate in sorted(found.functions.items())}
    return {name: round(getattr(found, name), 6) for name in _RATES} | {"functions": functions}


def calibration_of(probe: Any) -> Calibration | None:
    """The calibration of a probe.json, ``None`` if its probe did not get that far.

    Raises ``InvalidRequest`` that names the field for what is no probe.json.
    """
    wrong = "name a probe.json that `fanout probe` wrote"
    if not isinstance(probe, dict) or "calibration" not in probe:
        raise InvalidRequest("probe.calibration", "is missing", wrong)
    if probe.get("schema_version") != SCHEMA_VERSION:
        problem = f"{probe.get('schema_version')!r} is not a version that this release reads"
        raise InvalidRequest("probe.schema_version", problem, f"it reads {SCHEMA_VERSION}; probe again")
    row = probe["calibration"]
    if row is None:
        return None
    if not isinstance(row, dict):
        raise InvalidRequest("probe.calibration", "is not an object", wrong)
    rates = {name: _positive(name, row.get(name)) for name in _RATES}
    functions = row.get("functions")
    if not isinstance(functions, dict) or not all(str(number).isdecimal() for number in functions):
        raise InvalidRequest("probe.calibration.functions", "is not rates by a number of functions", wrong)
    by_number = {int(number): _positive(f"functions.{number}", rate) for number, rate in functions.items()}
    return Calibration(**rates, functions=by_number, probe=str(probe.get("probe_id", "")), at=_time(probe))


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise InvalidRequest(f"probe.calibration.{name}", f"{value!r} is not a rate", "a finite number above 0")
    return float(value)


def _time(probe: dict[str, Any]) -> float:
    at = probe.get("ended_at", 0.0)
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else 0.0


def calibrated_rates(published: Rates, source: Calibration | None, destination: Calibration | None) -> Rates:
    """What one function does between two ends: the published figures, where a file system has no calibration.

    Bytes pass both ends, so the slower one counts; the entries' operations are nearly all at the destination.
    """
    network = float(limits.LAMBDA_NETWORK_BYTES_PER_SECOND)
    rates = [network] if source or destination else [published.bytes_per_second]
    rates += [source.read_bytes_per_second_client] if source else []
    rates += [destination.write_bytes_per_second_client] if destination else []
    seconds = destination.seconds_per_entry if destination else published.seconds_per_entry
    return Rates(seconds_per_entry=seconds, bytes_per_second=min(rates))


def rates_of(request: Request, calibrations: Mapping[str, Calibration]) -> Rates:
    """What one function does: the published figures, or what a probe of a file system of the request found."""
    if request.inside_s3:
        return INSIDE_S3_RATES
    source, destination = (calibration_at(end, calibrations) for end in (request.source, request.destination))
    return calibrated_rates(DEFAULT_RATES, source, destination)


def creations_of(request: Request, calibrations: Mapping[str, Calibration]) -> float:
    """Creations a second that one directory of the destination takes: the published figure, or what a probe found."""
    there = calibration_at(request.destination, calibrations)
    return there.creations_per_second_directory if there else CREATIONS_PER_SECOND


def calibration_at(end: Location, calibrations: Mapping[str, Calibration]) -> Calibration | None:
    """That of the file system of an end, if it is one and was probed."""
    return calibrations.get(end.mount) if isinstance(end, MountLocation) else None
