"""The copying of a run: what each limit alone would make of it, and the one that binds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import Drain, FileSystemState, Load, iops_seconds
from fanout.efs.load import RequestCount, Work
from fanout.facts import aws
from fanout.forecast.credits import paced_drains, throughput_seconds
from fanout.forecast.overhead import is_paced
from fanout.model.shard import Rates
from fanout.pacing.concurrency import Pace, pace, rates_at
from fanout.pacing.start import limited_bytes, paced_at_first, seen_at_first
from fanout.request.request import Request


class Limit(StrEnum):
    """The bottleneck that decides how long the copy takes."""

    CLIENT = "client"
    FILE_SYSTEM = "file system"
    IOPS = "IOPS"
    S3_REQUESTS = "S3 requests"
    CONCURRENCY = "concurrency"
    DISPATCH_RATE = "dispatch rate"
    ONE_DIRECTORY = "one directory"
    REQUEST = "rate of the request"


class CopyLoad(Struct, frozen=True, kw_only=True):
    """The work of a copy, and what it can use for it.

    ``loads`` and ``states`` are by mount; ``measured`` are those of the states that are no assumption.
    ``creations_per_second`` is what one directory of the destination takes, ``most`` the functions that are planned.
    """

    request: Request
    work: Work
    rates: Rates
    loads: Mapping[str, Load]
    states: Mapping[str, FileSystemState]
    measured: Mapping[str, FileSystemState]
    requests: RequestCount
    creations_per_second: float
    most: int


class Copying(Struct, frozen=True, kw_only=True):
    """``limit_seconds`` is what each limit alone would make of the copying.

    One function alone takes ``alone`` seconds; at the ``pace`` so many ``functions`` work. Without any file system it
    takes ``free`` seconds. ``drains`` are of the file systems with credits, at that pace.
    """

    limit_seconds: Mapping[Limit, float]
    pace: Pace
    functions: int
    alone: float
    free: float
    drains: Mapping[str, Drain]

    @property
    def seconds(self) -> float:
        """Those of the limit that binds."""
        return max(self.limit_seconds.values())

    @property
    def function_seconds(self) -> float:
        """The seconds of all functions together: they wait for a limit that they share."""
        shared = (Limit.FILE_SYSTEM, Limit.IOPS, Limit.S3_REQUESTS, Limit.REQUEST)
        return max(self.alone, self.functions * max(self.limit_seconds[limit] for limit in shared))

    def by_one_function(self) -> Copying:
        """The same without a Map that starts functions."""
        return replace(self, limit_seconds={**self.limit_seconds, Limit.DISPATCH_RATE: 0.0})


def copying_of(given: CopyLoad) -> Copying:
    """The copying at the pace that it begins with. Burst credits are kept as PaceCopy keeps them."""
    request, work, rates = given.request, given.work, given.rates
    percent = request.limits.credit_reserve_percent
    planned = pace(work.entries, work.bytes, given.loads, given.measured, given.most, percent, rates)
    seen = seen_at_first(request, work, given.measured)
    chosen = replace(planned, max_concurrency=paced_at_first(request, seen, planned.max_concurrency, 0.0).concurrency)
    entries, size = work.entries + work.compared.entries, work.bytes + work.compared.bytes
    alone = rates_at(rates, chosen.threads).seconds(entries, size)
    at_once = max(1, min(given.most, work.shards))
    functions = max(1, min(chosen.max_concurrency, work.shards))
    by_request, paced = _request_seconds(request, work), is_paced(request, work)
    least = paced_drains(seen, 0.0, percent, is_paced=paced)
    limits = _limits(given, least, by_request, alone / at_once)
    if functions < min(given.most, work.shards):  # the fewer functions are the doing of the file system or of the rate
        lowered = max(Limit.FILE_SYSTEM, Limit.IOPS, Limit.REQUEST, key=lambda limit: limits[limit])
        limits[lowered] = max(limits[lowered], alone / functions)
    return Copying(
        limit_seconds=limits,
        pace=chosen,
        functions=functions,
        alone=alone,
        free=max(by_request, rates.seconds(entries, size) / at_once),
        drains=paced_drains(seen, max(alone / functions, by_request), percent, is_paced=paced),
    )


def _limits(
    given: CopyLoad, least: Mapping[str, Drain], by_request: float, by_concurrency: float
) -> dict[Limit, float]:
    work, loads, states = given.work, given.loads, given.states
    return {
        Limit.CLIENT: work.longest_seconds,
        Limit.FILE_SYSTEM: _file_system_seconds(loads, states, least),
        Limit.IOPS: max((iops_seconds(states[mount], load) for mount, load in loads.items()), default=0.0),
        # As if all keys lay below one partitioned prefix.
        Limit.S3_REQUESTS: max(
            given.requests.gets / aws.S3_GET_PER_SECOND, given.requests.puts / aws.S3_PUT_PER_SECOND
        ),
        Limit.CONCURRENCY: by_concurrency,
        Limit.ONE_DIRECTORY: _creation_seconds(given.request, work, given.creations_per_second),
        Limit.DISPATCH_RATE: work.shards / aws.MAP_CHILDREN_PER_SECOND,
        Limit.REQUEST: by_request,
    }


def _file_system_seconds(
    loads: Mapping[str, Load], states: Mapping[str, FileSystemState], least: Mapping[str, Drain]
) -> float:
    """Seconds at the throughput of the slowest file system; ``least`` holds those of file systems with credits."""
    found = (least[one].seconds if one in least else throughput_seconds(states[one], loads[one]) for one in loads)
    return max(found, default=0.0)


def _request_seconds(request: Request, work: Work) -> float:
    """Seconds at the rates that the request allows."""
    rates = request.limits
    by_bytes = limited_bytes(request, work) / rates.bytes_per_second if rates.bytes_per_second else 0.0
    return max(by_bytes, work.entries / rates.files_per_second if rates.files_per_second else 0.0)


def _creation_seconds(request: Request, work: Work, creations_per_second: float) -> float:
    """Creations in one directory of a file system come one after the other, whatever the number of functions."""
    written = not request.destination.is_keyed and not request.course.compares
    return work.largest_directory / creations_per_second if written else 0.0
