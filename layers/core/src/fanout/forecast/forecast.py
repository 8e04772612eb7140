"""The forecast of a run: seconds by phase, the limit that binds, burst credits, dollars."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import Drain, FileSystemState, Load, assumed_state, iops_seconds, merged
from fanout.efs.load import Work, loads_of, loads_to_list, requests_behind, requests_of
from fanout.efs.phase_cost import Basis, Overhead, together
from fanout.facts import aws
from fanout.facts.prices import prices_with
from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.forecast.costs import Dollars, dollars_of, metering_dollars
from fanout.forecast.credits import Credits, credits_of, paced_drains, throughput_seconds
from fanout.forecast.datasync import DataSync, datasync_of
from fanout.forecast.overhead import is_paced, overhead_of_run
from fanout.forecast.phases import phases_of
from fanout.forecast.way import Way, walk_listing, way_of
from fanout.model.books import Count
from fanout.model.shard import CREATIONS_PER_SECOND, Rates
from fanout.pacing.concurrency import Pace, pace, rates_at
from fanout.pacing.start import limited_bytes, paced_at_first, seen_at_first
from fanout.request.course import Mode
from fanout.request.request import Request

NOT_MEASURED = "the file system was not measured"


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


class Forecast(Struct, frozen=True):
    """``seconds`` is by phase, ``limit_seconds`` what each limit alone would make of the copying.

    ``states`` and ``credits`` are by mount. ``linked`` is what is linked and need not be copied. ``counts`` are the
    requests to the work bucket, calls and states of the run, which goes this ``way``.
    """

    seconds: Mapping[str, float]
    limit_seconds: Mapping[Limit, float]
    pace: Pace
    states: Mapping[str, FileSystemState]
    credits: Mapping[str, Credits]
    dollars: Dollars
    way: Way
    counts: Overhead
    datasync: DataSync
    linked: Count = Count()

    @property
    def binding(self) -> Limit:
        """The limit that takes longest."""
        return max(self.limit_seconds, key=lambda limit: self.limit_seconds[limit])


def forecast(
    request: Request,
    work: Work,
    rates: Rates,
    measured: Mapping[str, FileSystemState],
    creations_per_second: float = CREATIONS_PER_SECOND,
    functions_at_most: int | None = None,
    regions: Mapping[str, str] | None = None,
) -> Forecast:
    """The forecast of a run; a mount that was not measured takes part with assumed figures and slows nothing down.

    A plan has the forecast of the sync that it plans. Burst credits are kept as PaceCopy keeps them.
    ``creations_per_second`` is what one directory of the destination takes. ``functions_at_most`` is for the copying
    alone, where fewer are planned than the request allows. ``regions`` are those of the buckets outside the stack's.
    """
    if request.course.plans:
        request = replace(request, mode=Mode.SYNC)
    loads = loads_of(request, work)
    states = {mount: measured.get(mount) or assumed_state(NOT_MEASURED) for mount in loads}
    allowed = request.limits.max_concurrency
    most = min(allowed, functions_at_most or allowed)
    percent = request.limits.credit_reserve_percent
    chosen = pace(work.entries, work.bytes, loads, measured, most, percent, rates)
    seen = seen_at_first(request, work, measured)
    pacing = paced_at_first(request, seen, chosen.max_concurrency, 0.0)
    chosen = replace(chosen, max_concurrency=pacing.concurrency)
    listing = walk_listing(max(1, work.listed), LIST_CONCURRENCY)
    requests = requests_of(request, work, listing.segments)
    entries, size = work.entries + work.compared.entries, work.bytes + work.compared.bytes
    alone = rates_at(rates, chosen.threads).seconds(entries, size)
    functions = max(1, min(chosen.max_concurrency, work.shards))
    by_request = _request_seconds(request, work)
    free = max(by_request, rates.seconds(entries, size) / max(1, min(most, work.shards)))
    paced = is_paced(request, work)
    least = paced_drains(seen, 0.0, percent, is_paced=paced)
    drains = paced_drains(seen, max(alone / functions, by_request), percent, is_paced=paced)
    limit_of = {
        Limit.CLIENT: work.longest_seconds,
        Limit.FILE_SYSTEM: _file_system_seconds(loads, states, least),
        Limit.IOPS: max((iops_seconds(states[mount], load) for mount, load in loads.items()), default=0.0),
        # As if all keys lay below one partitioned prefix.
        Limit.S3_REQUESTS: max(requests.gets / aws.S3_GET_PER_SECOND, requests.puts / aws.S3_PUT_PER_SECOND),
        Limit.CONCURRENCY: alone / max(1, min(most, work.shards)),
        Limit.ONE_DIRECTORY: _creation_seconds(request, work, creations_per_second),
        Limit.DISPATCH_RATE: work.shards / aws.MAP_CHILDREN_PER_SECOND,
        Limit.REQUEST: by_request,
    }
    if functions < min(most, work.shards):  # the fewer functions are the doing of the file system or of the rate
        lowered = max(Limit.FILE_SYSTEM, Limit.IOPS, Limit.REQUEST, key=lambda limit: limit_of[limit])
        limit_of[lowered] = max(limit_of[lowered], alone / functions)
    shared = max(limit_of[limit] for limit in (Limit.FILE_SYSTEM, Limit.IOPS, Limit.S3_REQUESTS, Limit.REQUEST))
    copying = max(limit_of.values())
    way = way_of(request, work, listing, copying, alone)
    if way.is_short:  # no Map starts functions
        limit_of[Limit.DISPATCH_RATE] = 0.0
        copying = max(limit_of.values())
    of_copy = max(alone, functions * shared)
    price = prices_with(request.prices)
    basis = Basis(
        list_seconds=listing.seconds,
        segments=listing.segments,
        copy_seconds=copying,
        function_seconds=of_copy,
        functions=allowed,
        rates=rates,
        states=states,
        price=price,
        regions=regions or {},
    )
    costs = {phase.name: phase.predicted(request, work, basis) for phase in phases_of(request)}
    added = together(costs.values())
    busy = of_copy + added.function_seconds
    mounts = len(measured.keys() & loads.keys())
    aside = overhead_of_run(request, work, copying, busy, mounts, held=bool(drains), short=way.is_short)
    metering = metering_dollars(merged((loads, loads_to_list(request, work), added.loads)), states, price)
    aside += added.overhead
    return Forecast(
        seconds={
            phase: way.phases.get(phase, cost.seconds) for phase, cost in costs.items() if cost.seconds is not None
        },
        limit_seconds=limit_of,
        pace=chosen,
        states=states,
        credits=credits_of(drains, states, loads, free, percent),
        dollars=dollars_of(
            way,
            requests + added.requests + requests_behind(request, work, states),
            listing.function_seconds + busy,
            metering,
            price,
            aside,
            added.services,
            request.function,
        ),
        way=way,
        counts=way.counts + aside,
        datasync=datasync_of(request, work, states, price, regions or {}),
        linked=work.linked,
    )


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
