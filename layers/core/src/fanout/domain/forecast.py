"""The forecast of a run: seconds by phase, the limit that binds, burst credits, dollars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from fanout.domain import quotas
from fanout.domain.costs import Dollars, dollars_of, metering_dollars
from fanout.domain.deleting_model import deleting_seconds
from fanout.domain.efs_model import Drain, FileSystemState, Load, assumed_state, drain, iops_seconds, reserve_bytes
from fanout.domain.limits import EFS_WRITE_SECONDS
from fanout.domain.listing_model import LIST_CONCURRENCY, ListingWalk, walk_listing
from fanout.domain.locations import MountLocation
from fanout.domain.pace import Pace, pace, rates_at
from fanout.domain.prices import prices_with
from fanout.domain.request import Mode, Request, Verify
from fanout.domain.weights import Rates
from fanout.domain.workload import S3Requests, Work, loads_of, requests_of

# Assumed: seconds of a state that calls one function which has little to do, and of starting the Map of a phase.
STATE_SECONDS = 3.0
MAP_SECONDS = 5.0
# Assumed: seconds that SummariseTransfer takes for a shard: four requests of 20 ms, 16 shards at once.
SUMMARY_SECONDS_PER_SHARD = 4 * 0.02 / 16
# One creation after the other, at the best-case latency of a write.
CREATIONS_PER_SECOND = 1 / EFS_WRITE_SECONDS
NOT_MEASURED = "the file system was not measured"


class Limit(StrEnum):
    """What makes the copying take as long as it takes."""

    CLIENT = "client"
    FILE_SYSTEM = "file system"
    IOPS = "IOPS"
    S3_REQUESTS = "S3 requests"
    CONCURRENCY = "concurrency"
    DISPATCH_RATE = "dispatch rate"
    ONE_DIRECTORY = "one directory"


@dataclass(frozen=True, slots=True)
class Credits:
    """Burst credits of a mount over the copying; ``drain`` says when they run out, if they do."""

    begin: float
    reserve: float
    drain: Drain


@dataclass(frozen=True, slots=True)
class Forecast:
    """``seconds`` is by phase, ``limit_seconds`` what each limit alone would make of the copying.

    ``states`` and ``credits`` are by mount.
    """

    seconds: Mapping[str, float]
    limit_seconds: Mapping[Limit, float]
    pace: Pace
    states: Mapping[str, FileSystemState]
    credits: Mapping[str, Credits]
    dollars: Dollars

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
) -> Forecast:
    """The forecast of a run; a mount that was not measured takes part with assumed figures and slows nothing down.

    ``creations_per_second`` is what one directory of the destination takes.
    """
    loads = loads_of(request, work)
    states = {mount: measured.get(mount) or assumed_state(NOT_MEASURED) for mount in loads}
    most = request.limits.max_concurrency
    percent = request.limits.credit_reserve_percent
    chosen = pace(work.entries, work.bytes, loads, measured, most, percent, rates)
    listing = walk_listing(max(1, work.listed), LIST_CONCURRENCY)
    requests = requests_of(request, work, listing.segments)
    alone = rates_at(rates, chosen.threads).seconds(work.entries, work.bytes)
    functions = max(1, min(chosen.max_concurrency, work.shards))
    drains = {mount: _drain(states[mount], load, alone / functions) for mount, load in loads.items()}
    limit_of = {
        Limit.CLIENT: work.longest_seconds,
        Limit.FILE_SYSTEM: max(
            (_throughput(states[name], load, drains[name]) for name, load in loads.items()), default=0.0
        ),
        Limit.IOPS: max((iops_seconds(states[mount], load) for mount, load in loads.items()), default=0.0),
        Limit.S3_REQUESTS: _s3_seconds(requests),
        Limit.CONCURRENCY: alone / max(1, min(most, work.shards)),
        Limit.ONE_DIRECTORY: _creation_seconds(request, work, creations_per_second),
        Limit.DISPATCH_RATE: work.shards / quotas.MAP_CHILDREN_PER_SECOND.value,
    }
    if functions < min(most, work.shards):  # the fewer functions are the file system's doing
        lowered = max(Limit.FILE_SYSTEM, Limit.IOPS, key=lambda limit: limit_of[limit])
        limit_of[lowered] = max(limit_of[lowered], alone / functions)
    shared = max(limit_of[limit] for limit in (Limit.FILE_SYSTEM, Limit.IOPS, Limit.S3_REQUESTS))
    price = prices_with(request.prices)
    passes = 2 if request.verify is not Verify.NONE else 1
    busy = passes * max(alone, functions * shared)
    metering = metering_dollars(loads, states, price)
    return Forecast(
        seconds=_phases(request, work, max(limit_of.values()), _deleting(request, work, states), listing),
        limit_seconds=limit_of,
        pace=chosen,
        states=states,
        credits=_credits(states, drains, percent),
        dollars=dollars_of(work, requests, listing, busy, metering, price),
    )


def _drain(state: FileSystemState, load: Load, seconds: float) -> Drain:
    """The load on a file system by functions that would have done it in so many seconds."""
    metered = load.metered_bytes
    return drain(state, metered, metered / seconds) if metered and seconds else Drain(0.0, state.credits_bytes or 0.0)


def _throughput(state: FileSystemState, load: Load, drained: Drain) -> float:
    """Seconds that the file system's throughput takes at least: without credits, if the functions use them up."""
    if not load.metered_bytes:
        return 0.0
    fastest = drain(state, load.metered_bytes, inf).seconds
    if state.credits_bytes is None:  # of Elastic and Provisioned, reads have a limit of their own
        fastest = max(fastest, load.read_bytes / state.quota.read_bytes_per_second)
    return fastest if drained.empty_share is None else max(fastest, drained.seconds)


def _creation_seconds(request: Request, work: Work, creations_per_second: float) -> float:
    """Creations in one directory of a file system come one after the other, whatever the number of functions."""
    written = isinstance(request.destination, MountLocation) and request.mode is not Mode.VERIFY
    return work.largest_directory / creations_per_second if written else 0.0


def _s3_seconds(requests: S3Requests) -> float:
    """As if all keys lay below one partitioned prefix."""
    return max(requests.gets / quotas.S3_GET_PER_SECOND.value, requests.puts / quotas.S3_PUT_PER_SECOND.value)


def _deleting(request: Request, work: Work, states: Mapping[str, FileSystemState]) -> float:
    """Seconds of the phase that deletes: its Map, and the states before and after it; 0 where nothing is extra."""
    if request.mode is not Mode.SYNC or not work.extras:
        return 0.0
    end = request.destination
    writes = states[end.mount].quota.write_iops if isinstance(end, MountLocation) else inf
    return 2 * STATE_SECONDS + MAP_SECONDS + deleting_seconds(request, work.extras, writes)


def _phases(request: Request, work: Work, copying: float, deleting: float, listing: ListingWalk) -> dict[str, float]:
    """Seconds by phase, in their order; a verification is taken to be as long as the copying."""
    work_phase = "verify" if request.mode is Mode.VERIFY else "copy"
    seconds = {
        "plan": STATE_SECONDS,
        "list": listing.seconds,
        "partition": STATE_SECONDS,
        work_phase: MAP_SECONDS + copying if work.shards else 0.0,
    }
    if request.mode is not Mode.VERIFY:
        seconds["finish"] = STATE_SECONDS
    if deleting:
        seconds["delete"] = deleting
    if request.verify is not Verify.NONE:
        again = listing.seconds if request.verify is Verify.ALL else 0.0
        seconds["verify"] = MAP_SECONDS + copying + again
    seconds["summarise"] = STATE_SECONDS + work.shards * SUMMARY_SECONDS_PER_SHARD
    return seconds


def _credits(
    states: Mapping[str, FileSystemState], drains: Mapping[str, Drain], reserve_percent: float
) -> dict[str, Credits]:
    """The credits of each mount that has any, as the functions use them."""
    return {
        mount: Credits(state.credits_bytes, reserve_bytes(state, reserve_percent), drains[mount])
        for mount, state in states.items()
        if state.credits_bytes is not None
    }
