"""Chooses the plan of an estimate that has to end by a time."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fanout.efs.model import FileSystemState
from fanout.forecast.choosing.choices import Predict, shard_levels
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

    def of_plan(functions: int, shard_seconds: float, states: Mapping[str, FileSystemState]) -> Forecast:
        limits = replace(request.limits, max_concurrency=functions, shard_seconds=shard_seconds)
        return estimate(replace(request, limits=limits), replace(known, states=states))

    def predict_in(states: Mapping[str, FileSystemState]) -> Predict:
        def predict(functions: int, shard_seconds: float) -> tuple[Forecast, float]:
            found = of_plan(functions, shard_seconds, states)
            return found, seconds_left(found, now, window)

        return predict

    moments = Moments(text, now, now, finish_at(text, now))
    of_any_stack = min(request.function.shard_seconds, FunctionSize().shard_seconds)
    lengths = shard_levels(shard_seconds or of_any_stack)
    finish = decide_finish(
        moments, request.limits.max_concurrency, lengths, predict_in, measured_of(request, known.states)
    )
    taken = finish.functions or finish.plans[0].functions
    return of_plan(taken, finish.shard_seconds, known.states), finish
