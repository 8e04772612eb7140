"""When each shard was worked on: a row a shard, a bar an attempt."""

from __future__ import annotations

from msgspec import Struct

from fanout.report.charts.axes import Tick, percent_of, time_ticks
from fanout.report.text import count, duration, size
from fanout.shards.tasks.activity import Activity, ShardActivity
from fanout.shards.tasks.attempt import AttemptEnd

_ENDS = {
    AttemptEnd.DONE: "done",
    AttemptEnd.HANDED_BACK: "handed back its tail",
    AttemptEnd.FAILED: "failed, to be tried again",
    AttemptEnd.LOST: "no end recorded",
}
# The narrowest bar, in percent, that can be seen.
_NARROWEST = 0.25


class Bar(Struct, frozen=True):
    """An attempt, in percent of the time axis."""

    at: float
    width: float
    end: str
    text: str


class ShardRow(Struct, frozen=True):
    """A shard; ``predicted_at`` is where it was predicted to end, in percent, if it was."""

    shard_id: str
    bars: list[Bar]
    predicted_at: float | None
    is_straggler: bool
    began: str
    seconds: str
    predicted: str
    attempts: int
    fate: str


class Gantt(Struct, frozen=True):
    """The rows that are drawn; ``others`` shards are not."""

    rows: list[ShardRow]
    others: int
    times: list[Tick]


def gantt(activity: Activity) -> Gantt | None:
    """The chart, or none for a phase that took no time."""
    span = activity.ended - activity.began
    if span <= 0:
        return None
    rows = [_row(shard, activity, span) for shard in activity.shown()]
    return Gantt(rows, activity.shards - len(rows), time_ticks(span))


def _row(shard: ShardActivity, activity: Activity, span: float) -> ShardRow:
    bars = []
    for number, attempt in enumerate(shard.attempts, start=1):
        following = shard.attempts[number].began if number < len(shard.attempts) else activity.ended
        ended = following if attempt.ended is None else attempt.ended
        at = min(percent_of(attempt.began - activity.began, span), 100 - _NARROWEST)
        width = max(percent_of(ended - attempt.began, span), _NARROWEST)
        did = f"{count(attempt.entries)} entries, {size(attempt.bytes)}"
        took = "" if attempt.ended is None else f" in {duration(attempt.seconds)}"
        text = f"{shard.shard_id}, attempt {number}: {_ENDS[attempt.end]}{took}; {did}"
        bars.append(Bar(at, min(width, round(100 - at, 2)), attempt.end.value, text))
    begun = shard.attempts[0].began - activity.began
    predicted = shard.predicted_seconds
    return ShardRow(
        shard.shard_id,
        bars,
        percent_of(begun + predicted, span) if 0 < begun + predicted <= span and predicted > 0 else None,
        activity.is_straggler(shard),
        duration(begun),
        duration(shard.seconds),
        duration(predicted) if predicted > 0 else "",
        len(shard.attempts),
        _ENDS[shard.attempts[-1].end],
    )
