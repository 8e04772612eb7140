"""Chooses the plan of an estimate that has to end by a time."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fanout.efs.model import FileSystemState
from fanout.forecast.choosing.choices import shard_levels
from fanout.forecast.choosing.finish import Finish, Moments, decide_finish, measured_of, seconds_left
from fanout.forecast.estimate import Known, estimate
from fanout.forecast.forecast import Forecast
from fanout.request.parts.finish_by import finish_at
from fanout.request.parts.limits import FunctionSize
from fanout.request.request import Request


def choose_estimated(
    request: Request, known: Known, now: float, shard_seconds: float | None = None
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
