"""Computes the activity of a run's tasks over time, from the records of its attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fanout.books.summary_document import SizeBucket, TasksDone
from fanout.ledger.ledger import Ledger
from fanout.model.shard import Shard
from fanout.request.filtering.matched import matched_in_all
from fanout.shards.round_records import rounds_done
from fanout.shards.sizes import Sizes, bucket_bounds
from fanout.shards.tasks.activity import Activity
from fanout.shards.tasks.attempt import AttemptEnd
from fanout.shards.tasks.attempts import attempts_by_shard


def run_activities(ledger: Ledger, shards: Iterable[Shard]) -> list[Activity]:
    """The activity of copying and then of verifying, as far as there is any.

    Seconds are predicted for what the shards were cut for: the copy, or the verification if there is no copy.
    """
    predicted = {shard.id: shard.seconds for shard in shards}
    copied = _activity("copy", ledger, predicted)
    compared = {} if copied else predicted
    found = [copied, _activity("verify", ledger, compared) or _activity("verify", ledger.verification(), {})]
    return [activity for activity in found if activity is not None]


def _activity(phase: str, ledger: Ledger, predicted: Mapping[str, float]) -> Activity | None:
    """Twice over the records: for the time that they span, then for what happened in it."""
    began, ended = float("inf"), float("-inf")
    for _, attempts in attempts_by_shard(phase, ledger):
        began = min(began, attempts[0].began)
        ended = max(ended, *(attempt.ended or attempt.began for attempt in attempts))
    if began > ended:
        return None
    activity = Activity(phase, began, ended)
    for shard_id, attempts in attempts_by_shard(phase, ledger):
        activity.add(shard_id, predicted.get(shard_id, 0.0), attempts)
    return activity


def tasks_done(activity: Activity) -> TasksDone:
    """``tasks`` of summary.json for one phase."""
    return TasksDone(
        phase=activity.phase,
        shards_begun=activity.shards,
        begun=activity.attempts,
        done=activity.ends[AttemptEnd.DONE],
        handed_back=activity.ends[AttemptEnd.HANDED_BACK],
        failed=activity.ends[AttemptEnd.FAILED],
        lost=activity.ends[AttemptEnd.LOST],
        seconds=round(activity.seconds, 3),
        stragglers=activity.stragglers,
    )


def matched_globs(ledger: Ledger) -> list[str] | None:
    """The globs of the request that matched an entry, as ``MatchedGlobs`` names them; ``None`` if not known."""
    return matched_in_all(done.matched for done in rounds_done(ledger))


def listed_sizes(ledger: Ledger) -> list[SizeBucket]:
    """``sizes`` of summary.json: the files that were listed, by size, without the buckets that hold none."""
    sizes = Sizes()
    for done in rounds_done(ledger):
        sizes.merge(done.sizes)
    return [SizeBucket(*bucket_bounds(at), count.entries, count.bytes) for at, count in sizes.buckets.items()]
