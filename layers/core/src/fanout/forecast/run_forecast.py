"""Forecasts a run once its shards are known, and compares the forecast with the actual run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fanout.efs.load import Work, directories_in
from fanout.efs.measure import measured_file_systems
from fanout.efs.phase_cost import WorkDone
from fanout.forecast.choosing.choose_plan import functions_for, with_forecast
from fanout.forecast.choosing.finish import Finish, reached
from fanout.forecast.costs import Dollars
from fanout.forecast.document import FORECAST, ForecastDocument, by_service, forecast_document
from fanout.forecast.forecast import Forecast, forecast
from fanout.forecast.spending import dollars_done
from fanout.ledger.ledger import Ledger
from fanout.model.books import Books, Count
from fanout.model.outcome import Result
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.tasks.activity import Activity
from fanout.work.context import Context


def work_of(
    listed: Count,
    big_files: int,
    shards: Sequence[Shard],
    largest_directory: int,
    extras: int,
    held: Mapping[str, Count] | None = None,
    compared: Count = Count(),  # noqa: B008
    heads: int = 0,
    sizes: tuple[Count, ...] = (),
    there: Count = Count(),  # noqa: B008
    *,
    has_directories: bool = False,
) -> Work:
    """The work in the shards, and the extras. The parts of a big file hold its bytes; the file counts once.

    ``there`` is what the destination holds, and ``compared`` the same where the request compares by checksum: no more
    than that is read there. ``has_directories``: those of the source are listed, as of a mount.
    """
    copied = [shard for shard in shards if not (shard.linked or shard.done)]
    entries = sum(shard.entries for shard in copied if shard.blocks is None) + big_files
    size = sum(shard.bytes for shard in copied)
    return Work(
        listed=listed.entries,
        entries=entries,
        bytes=size,
        shards=len(shards),
        longest_seconds=max((shard.seconds for shard in shards), default=0.0),
        largest_directory=largest_directory,
        extras=extras,
        held=held or {},
        linked=sum((Count(shard.entries, shard.bytes) for shard in shards if shard.linked), Count()),
        done=sum((Count(shard.entries, shard.bytes) for shard in shards if shard.done), Count()),
        listed_bytes=listed.bytes,
        compared=Count(min(entries, compared.entries), min(size, compared.bytes)),
        heads=heads,
        sizes=sizes,
        there=there.entries,
        directories=directories_in(listed.entries, sizes) if has_directories else None,
    )


def write_forecast(plan: Plan, work: Work, chosen: Finish | None, context: Context) -> tuple[Forecast, Finish | None]:
    """Write forecast.json, whose pace says how many functions are to work at once; and what becomes of the choice."""
    measured, now = measured_file_systems(context.ledger), context.clock.now()
    functions = functions_for(chosen, plan)
    creations = plan.creations_per_second
    found = forecast(plan.request, work, plan.rates, measured, creations, functions, plan.regions)
    finish = with_forecast(chosen, found, plan, now) if chosen else None
    document = forecast_document(found, now, plan.request.limits.window, finish)
    context.ledger.write(FORECAST, document)
    return found, finish


def forecast_and_actual(
    plan: Plan,
    books: Books,
    activities: Sequence[Activity],
    seconds: Mapping[str, float],
    ledger: Ledger,
    now: float,
    *,
    whole: bool,
) -> ForecastDocument | None:
    """``forecast`` of summary.json; ``None`` for a run that broke off before it had one.

    ``whole``: the run has done all that it is for.
    """
    found = ledger.find(FORECAST)
    if found is None:
        return None
    dollars = actual_dollars(plan, books, activities, seconds.get("copy", 0.0), ledger)
    finish = found.finish
    if finish is not None and plan.finishes_at is not None and not plan.request.course.plans:
        finish = reached(finish, plan.finishes_at, now, found.predicted_seconds, seconds, whole=whole)
    return replace(found, actual_seconds=dict(seconds), actual_dollars=by_service(dollars), finish=finish)


def actual_dollars(plan: Plan, books: Books, activities: Sequence[Activity], copying: float, ledger: Ledger) -> Dollars:
    """The dollars of what the books and the activities of a closed run say, whose copying took so many seconds."""
    request = plan.request
    compared = Count() if request.course.writes else books.by_result[Result.UNCHANGED]
    after = [one for one in activities if one.phase == "verify"] if request.course.writes else []
    done = WorkDone(
        listed=books.listed.entries,
        moved=books.by_result[Result.COPIED] + (compared if request.course.compares else Count()),
        verified=sum((one.worked for one in after), Count()),
        deleted=books.by_result[Result.DELETED].entries,
        tasks=sum(activity.attempts for activity in activities),
        task_seconds=sum(activity.seconds for activity in activities),
        copying_seconds=copying,
        tasks_after=sum(one.attempts for one in after),
        seconds_after=sum(one.seconds for one in after),
    )
    return dollars_done(plan, done, ledger)
