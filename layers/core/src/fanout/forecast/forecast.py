"""The forecast of a run: seconds by phase, the limit that binds, burst credits, dollars."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, assumed_state, merged
from fanout.efs.load import Work, loads_of, loads_to_list, requests_behind, requests_of
from fanout.efs.phase_cost import Basis, Overhead, together
from fanout.facts.prices import prices_with
from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.forecast.copying import Copying, CopyLoad, Limit, copying_of
from fanout.forecast.costs import Dollars, dollars_of, metering_dollars
from fanout.forecast.credits import Credits, credits_of
from fanout.forecast.datasync import DataSync, datasync_of
from fanout.forecast.overhead import overhead_of_run
from fanout.forecast.phases import phases_of
from fanout.forecast.way import ListingWalk, Way, walk_listing, way_of
from fanout.model.books import Count
from fanout.model.shard import CREATIONS_PER_SECOND, Rates
from fanout.pacing.concurrency import Pace
from fanout.request.course import Mode
from fanout.request.request import Request

NOT_MEASURED = "the file system was not measured"


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
    listing = walk_listing(max(1, work.listed), LIST_CONCURRENCY)
    allowed = request.limits.max_concurrency
    given = CopyLoad(
        request=request,
        work=work,
        rates=rates,
        loads=loads,
        states={mount: measured.get(mount) or assumed_state(NOT_MEASURED) for mount in loads},
        measured=measured,
        requests=requests_of(request, work, listing.segments),
        creations_per_second=creations_per_second,
        most=min(allowed, functions_at_most or allowed),
    )
    copying = copying_of(given)
    way = way_of(request, work, listing, copying.seconds, copying.alone)
    return _with_phases(given, listing, copying.by_one_function() if way.is_short else copying, way, regions or {})


def _with_phases(
    given: CopyLoad, listing: ListingWalk, copying: Copying, way: Way, regions: Mapping[str, str]
) -> Forecast:
    """The forecast of a whole run around the copying of it."""
    request, work, loads, states = given.request, given.work, given.loads, given.states
    price = prices_with(request.prices)
    basis = Basis(
        list_seconds=listing.seconds,
        segments=listing.segments,
        copy_seconds=copying.seconds,
        function_seconds=copying.function_seconds,
        functions=request.limits.max_concurrency,
        rates=given.rates,
        states=states,
        price=price,
        regions=regions,
    )
    costs = {phase.name: phase.predicted(request, work, basis) for phase in phases_of(request)}
    added = together(costs.values())
    busy = copying.function_seconds + added.function_seconds
    mounts = len(given.measured.keys() & loads.keys())
    aside = added.overhead + overhead_of_run(
        request, work, copying.seconds, busy, mounts, held=bool(copying.drains), short=way.is_short
    )
    dollars = dollars_of(
        way,
        given.requests + added.requests + requests_behind(request, work, states),
        listing.function_seconds + busy,
        metering_dollars(merged((loads, loads_to_list(request, work), added.loads)), states, price),
        price,
        aside,
        added.services,
        request.function,
    )
    percent = request.limits.credit_reserve_percent
    return Forecast(
        seconds={
            phase: way.phases.get(phase, cost.seconds) for phase, cost in costs.items() if cost.seconds is not None
        },
        limit_seconds=copying.limit_seconds,
        pace=copying.pace,
        states=states,
        credits=credits_of(copying.drains, states, loads, copying.free, percent),
        dollars=dollars,
        way=way,
        counts=way.counts + aside,
        datasync=datasync_of(request, work, states, price, regions),
        linked=work.linked,
    )
