"""Forecasts a whole run before any listing, from a request, a number of entries and their bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.efs.calibration import Calibration, creations_of, rates_of
from fanout.efs.capacity import FileSystemState, baseline, most_credits, published
from fanout.efs.load import Work, reads_before_copying
from fanout.facts import tuning
from fanout.forecast.choosing.choices import shard_levels
from fanout.forecast.choosing.finish import Finish, Moments, decide_finish, measured_of, seconds_left
from fanout.forecast.forecast import Forecast, forecast
from fanout.model.books import Count
from fanout.model.file_system import ThroughputMode
from fanout.model.shard import Rates
from fanout.request.parts.finish_by import finish_at
from fanout.request.parts.limits import FunctionSize
from fanout.request.proven_ends import ends_to_prove, heads_of_look
from fanout.request.request import Request
from fanout.shards.packing import target_seconds


class EstimateFacts(Struct, frozen=True):
    """The facts of an estimate besides the request: the tree, and the file systems by mount.

    ``entries`` are new at the destination, ``unchanged`` lie there already; ``extras`` are there for a sync to delete.
    ``largest_directory`` is the number of files in the directory that has most of them, 0 for many directories. It
    counts only where the destination is a file system. ``unchanged_bytes`` are read with ``compare: checksum``, and by
    a verification of whole trees. ``indexed``: the index of an earlier run vouches for what is unchanged.
    ``regions`` are those of the buckets that are not in the stack's. ``small`` are the files below 32 KiB among
    ``entries``, where they and the others are not taken to be equally large.
    """

    entries: int
    bytes: int
    largest_directory: int = 0
    extras: int = 0
    states: Mapping[str, FileSystemState] = field(default_factory=dict)
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    unchanged: int = 0
    unchanged_bytes: int = 0
    indexed: bool = True
    regions: Mapping[str, str] = field(default_factory=dict)
    small: Count = Count()


def estimate(request: Request, known: EstimateFacts) -> Forecast:
    rates = rates_of(request, known.calibrations)
    states = {mount: with_probed(state, known.calibrations.get(mount)) for mount, state in known.states.items()}
    work = estimated_work(request, known, rates)
    creations = creations_of(request, known.calibrations)
    return forecast(request, work, rates, states, creations, regions=known.regions)


def with_probed(state: FileSystemState, calibration: Calibration | None) -> FileSystemState:
    """The state of a file system, and the limit that the functions of its probe reached, if they did."""
    probed = calibration.limit_bytes_per_second if calibration else None
    return replace(state, probed_bytes_per_second=probed)


def estimated_work(request: Request, known: EstimateFacts, rates: Rates) -> Work:
    """The work as PartitionShards would cut it, were all entries of one size but for the small ones."""
    compared = Count(known.unchanged, known.unchanged_bytes) if reads_before_copying(request) else Count()
    alone = rates.seconds(known.entries + compared.entries, known.bytes + compared.bytes)
    target = target_seconds(alone, request.limits.max_concurrency, request.limits.shard_seconds)
    shards = max(math.ceil(alone / target), math.ceil((known.entries + compared.entries) / tuning.SHARD_ENTRIES))
    longest = alone / shards if shards else 0.0
    listed = known.entries + known.unchanged
    return Work(
        listed,
        known.entries,
        known.bytes,
        shards,
        longest,
        known.largest_directory,
        known.extras,
        known.unchanged + known.extras,
        listed_bytes=known.bytes + known.unchanged_bytes,
        compared=compared,
        heads=0 if known.indexed else known.unchanged * heads_of_look(ends_to_prove(request)),
        sizes=(known.small, Count(known.entries, known.bytes) - known.small) if known.small.entries else (),
    )


def idle_state(
    mode: ThroughputMode, standard_bytes: int = 0, provisioned: float = 0.0, credits_bytes: float | None = None
) -> FileSystemState:
    """The state of an idle file system by the published figures; with all credits unless ``credits_bytes`` is given."""
    credits = None
    if mode is ThroughputMode.BURSTING:
        credits = most_credits(standard_bytes) if credits_bytes is None else credits_bytes
    permitted = published(mode, standard_bytes, provisioned, one_zone=False)
    if credits == 0:
        permitted = baseline(standard_bytes)
    return FileSystemState(
        mode,
        permitted,
        standard_bytes=standard_bytes,
        stored_bytes=standard_bytes,
        credits_bytes=credits,
        assumptions=("nobody else is taken to use it; it was not measured",),
    )


def choose_estimated(
    request: Request, known: EstimateFacts, now: float, shard_seconds: float | None = None
) -> tuple[Forecast, Finish]:
    """The plan of a run that begins now and ends by its ``limits.finish_by``, and the forecast of that plan.

    Shards of other lengths are tried, up to ``shard_seconds`` where the request gives it.
    """
    window, text = request.limits.window, request.limits.finish_by

    def predict(functions: int, shard_seconds: float, states: Mapping[str, FileSystemState]) -> tuple[Forecast, float]:
        limits = replace(request.limits, max_concurrency=functions, shard_seconds=shard_seconds)
        found = estimate(replace(request, limits=limits), replace(known, states=states))
        return found, seconds_left(found, now, window)

    moments = Moments(text, now, now, finish_at(text, now))
    of_any_stack = min(request.function.shard_seconds, FunctionSize().shard_seconds)
    lengths = shard_levels(shard_seconds or of_any_stack)
    measured = measured_of(request, known.states)
    finish = decide_finish(moments, request.limits.max_concurrency, lengths, predict, measured)
    taken = finish.functions or finish.plans[0].functions
    return predict(taken, finish.shard_seconds, known.states)[0], finish
