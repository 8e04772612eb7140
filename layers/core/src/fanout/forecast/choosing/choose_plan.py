"""Chooses the plan of a run with ``limits.finish_by`` between its listing and its copy, and refuses it if none is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState
from fanout.efs.load import Work
from fanout.efs.measure import measured_file_systems
from fanout.forecast.choosing import finish
from fanout.forecast.choosing.finish import FINISH
from fanout.forecast.forecast import Forecast, forecast
from fanout.forecast.phases import INSIDE
from fanout.ledger.ledger import Ledger
from fanout.model.document import utc
from fanout.model.errors import FinishRefused
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.packing import target_seconds

# Those that are behind a run when its plan is chosen.
BEFORE = frozenset({"plan", "list", "partition"})
WITH_COPY = {"copy"} | {phase for phase, other in INSIDE.items() if other == "copy"}


class Outline(Struct, frozen=True):
    """The work before it is cut: shards that stay as they are, and the seconds of what is joined or cut yet."""

    work: Work
    whole: Sequence[Shard]
    rest_seconds: float

    def work_with(self, functions: int, shard_seconds: float) -> Work:
        """The work as it would be cut for so many functions."""
        whole = sum(shard.seconds for shard in self.whole)
        target = target_seconds(whole + self.rest_seconds, functions, shard_seconds)
        cut = math.ceil(self.rest_seconds / target) if self.rest_seconds else 0
        longest = max((shard.seconds for shard in self.whole), default=0.0)
        return replace(
            self.work, shards=len(self.whole) + cut, longest_seconds=max(longest, min(target, self.rest_seconds))
        )


def outline(work: Work, whole: Sequence[Shard], loose: Sequence[Shard], big: Sequence[int], plan: Plan) -> Outline:
    """The work of whole and loose shards, and of big files of so many bytes, which are in no shard yet."""
    rest = sum(one.seconds for one in loose) + sum(plan.rates.seconds(1, size) for size in big)
    return Outline(replace(work, bytes=work.bytes + sum(big)), whole, rest)


def choose_for(plan: Plan, outlined: Callable[[], Outline], ledger: Ledger, now: float) -> finish.Finish | None:
    """The plan that the run takes, which an attempt that comes later keeps; ``None`` without ``limits.finish_by``.

    The verification inside a run has no plan of its own.
    """
    if plan.finishes_at is None or ledger.is_verification:
        return None
    request, window, outline = plan.request, plan.request.limits.window, outlined()

    def predict(functions: int, shard_seconds: float, states: Mapping[str, FileSystemState]) -> tuple[Forecast, float]:
        work = outline.work_with(functions, shard_seconds)
        found = forecast(request, work, plan.rates, states, plan.creations_per_second, functions, plan.regions)
        return found, finish.seconds_left(found, now, window, BEFORE)

    limits, states = request.limits, finish.measured_of(request, measured_file_systems(ledger))
    found = finish.decide_finish(moments_of(plan, now), limits.max_concurrency, [limits.shard_seconds], predict, states)
    return ledger.write_once(FINISH, found, lambda _known: True)


def moments_of(plan: Plan, now: float) -> finish.Moments:
    """The moments of a run whose plan is chosen now. A run that stops before its ``finish_by`` has to end by then."""
    ends = [at for at in (plan.finishes_at, plan.ends_at) if at is not None]
    return finish.Moments(plan.request.limits.finish_by, plan.asked, now, min(ends))


def functions_for(chosen: finish.Finish | None, plan: Plan) -> int:
    """The functions that the plan starts with: all that the request allows where nothing is chosen."""
    return chosen.functions if chosen and chosen.functions else plan.request.limits.max_concurrency


def with_forecast(chosen: finish.Finish, found: Forecast, plan: Plan, now: float) -> finish.Finish:
    """The choice, with the end that the forecast of the shards as they were cut comes to."""
    moments = moments_of(plan, now)
    seconds = finish.seconds_left(found, now, plan.request.limits.window, BEFORE)
    in_time = seconds <= moments.left
    said = replace(
        chosen,
        functions=found.pace.max_concurrency if in_time else 0,
        predicted_end=utc(now + seconds),
        predicted_seconds=round(seconds, 3),
        dollars=round(found.dollars.total, 6),
        nearest="" if in_time else finish.nearest(moments, seconds),
    )
    if in_time or not chosen.functions:
        return said
    return replace(said, why=f"with its shards as they were cut, the plan ends at {said.predicted_end}")


def copied_by(plan: Plan, found: Forecast, now: float) -> float | None:
    """When the copy has to end, so that what comes after it ends in time; a window's pauses tell nothing of a speed."""
    if plan.finishes_at is None or plan.request.limits.window:
        return None
    after = (took for phase, took in found.seconds.items() if phase not in BEFORE | WITH_COPY)
    return moments_of(plan, now).at - sum(after)


def refuse_too_late(plan: Plan, chosen: finish.Finish | None, ledger: Ledger) -> None:
    """Raise ``FinishRefused`` if the plan does not end in time; a run that only plans notes it."""
    if chosen is None or chosen.functions:
        return
    pays = [one.sentence for one in chosen.other_modes if one.pays]
    refused = FinishRefused(chosen.finish_by, "; ".join([chosen.why, *pays]), chosen.nearest)
    if not plan.request.course.plans:
        raise refused
    ledger.note("finish", [f"a copy or a sync would be refused: {refused}"])


def note_choice(chosen: finish.Finish | None, ledger: Ledger) -> None:
    """Note the plan that is taken, and why."""
    if chosen is None or not chosen.functions:
        return
    ends = f"ends at {chosen.predicted_end} by the forecast, for {finish.dollars_text(chosen.dollars)}"
    functions = f"{chosen.functions:,} function{'' if chosen.functions == 1 else 's'}"
    said = f"limits.finish_by {chosen.finish_by!r} is {chosen.at}: with {functions} the run {ends}; {chosen.why}"
    ledger.note("finish", [said, *(one.sentence for one in chosen.other_modes)])
