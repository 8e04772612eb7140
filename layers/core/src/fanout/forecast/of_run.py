"""Forecasts a run once its shards are known, and compares the forecast with the actual run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from msgspec.structs import replace

from fanout.efs.load import Work, loads_of, requests_of
from fanout.efs.measure import measured_file_systems
from fanout.efs.model import assumed_state
from fanout.facts import tuning
from fanout.facts.prices import prices_with
from fanout.forecast.costs import Dollars, dollars_of, metering_dollars
from fanout.forecast.deleting import deleting_of, deletion_loads
from fanout.forecast.document import ForecastDocument, by_service, forecast_document
from fanout.forecast.forecast import NOT_MEASURED, Forecast, forecast
from fanout.forecast.listing import ListingWalk
from fanout.forecast.overhead import beside_run
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Books, Count
from fanout.model.outcome import Result
from fanout.model.shard import Shard
from fanout.rates.run_limits import PacedRate
from fanout.request.options import Mode
from fanout.request.plan import Plan
from fanout.shards.rounds import rounds_done
from fanout.shards.tasks.activity import Activity
from fanout.work.context import Context


def work_of(listed: int, big_files: int, shards: Sequence[Shard], largest_directory: int, extras: int) -> Work:
    """The work in the shards, and the extras. The parts of a big file hold its bytes; the file counts once."""
    return Work(
        listed=listed,
        entries=sum(shard.entries for shard in shards if shard.blocks is None) + big_files,
        bytes=sum(shard.bytes for shard in shards),
        shards=len(shards),
        longest_seconds=max((shard.seconds for shard in shards), default=0.0),
        largest_directory=largest_directory,
        extras=extras,
    )


def write_forecast(plan: Plan, work: Work, context: Context) -> Forecast:
    """Write forecast.json; its pace says how many functions are to work at once."""
    measured = measured_file_systems(context.ledger)
    found = forecast(plan.request, work, plan.rates, measured, plan.creations_per_second)
    context.ledger.write(keys.FORECAST, forecast_document(found, context.clock.now()))
    return found


def threads_of(ledger: Ledger) -> int:
    """Threads of a function that copies, as the forecast's pace says; all of them in a run that has no forecast."""
    found = ledger.find(keys.FORECAST, ForecastDocument)
    return tuning.CLIENT_OPERATIONS_IN_FLIGHT if found is None else found.pace.threads


def forecast_and_actual(
    plan: Plan, books: Books, activities: Sequence[Activity], seconds: Mapping[str, float], ledger: Ledger
) -> ForecastDocument | None:
    """``forecast`` of summary.json; ``None`` for a run that broke off before it had one."""
    found = ledger.find(keys.FORECAST, ForecastDocument)
    if found is None:
        return None
    dollars = actual_dollars(plan, books, activities, seconds.get("copy", 0.0), ledger)
    return replace(found, actual_seconds=dict(seconds), actual_dollars=by_service(dollars))


def actual_dollars(plan: Plan, books: Books, activities: Sequence[Activity], copying: float, ledger: Ledger) -> Dollars:
    """The dollars of what the ledger counted: copied entries and bytes, rounds, segments, tasks and their seconds.

    It adds the pacing of a copy of so many seconds, and the forecast for deleting what was deleted. Prices and
    operations are those of the forecast; this is not a bill. Each task counts as a shard does.
    """
    request, rounds = plan.request, list(rounds_done(ledger))
    compared = Count() if request.mode.writes else books.by_result[Result.UNCHANGED]
    moved = books.by_result[Result.COPIED] + (compared if request.mode is Mode.VERIFY else Count())
    tasks = sum(activity.attempts for activity in activities)
    work = Work(books.listed.entries, moved.entries, moved.bytes, tasks, 0.0)
    by_functions = sum(done.seconds for done in rounds)
    segments = sum(done.segments for done in rounds)
    listing = ListingWalk(len(rounds), segments, segments, 0.0, by_functions)
    loads, known = loads_of(request, work), measured_file_systems(ledger)
    states = {mount: known.get(mount) or assumed_state(NOT_MEASURED) for mount in loads}
    price = prices_with(request.prices)
    busy = sum(activity.seconds for activity in activities)
    removal = deleting_of(request, books.by_result[Result.DELETED].entries, inf)
    requests = requests_of(request, work, segments)
    requests = replace(requests, gets=requests.gets + removal.looks)
    metering = metering_dollars(loads, states, price)
    metering += metering_dollars(deletion_loads(request, books.by_result[Result.DELETED].entries), states, price)
    held = ledger.find(keys.PACED_RATE, PacedRate) is not None
    aside = beside_run(request, work, copying, busy, removal, len(known.keys() & loads.keys()), held=held)
    return dollars_of(work, requests, listing, busy, metering, price, aside)
