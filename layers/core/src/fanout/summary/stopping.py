"""Decides whether a run was stopped by a limit of its request, and says how to go on.

| mode             | the run got further            | it got no further                                    |
|------------------|--------------------------------|------------------------------------------------------|
| `copy`, `move`,  | again, with ``resume_from``    | again, with ``resume_from`` and a higher limit       |
| `verify`         |                                |                                                      |
| `sync`           | the same: finds done unchanged | the same                                             |
|                  | which ``verify: copied`` skips |                                                      |
| any other        | keeps nothing: again, with a higher limit | the same                                  |

A run got further if it copied or deleted an entry, and if its comparison of both trees proved one, or read a block for
a proof, that no run before it in its chain had, unless it certifies; one whose listing another takes over also if it
listed or verified an entry. What another run would list and compare again is not further.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from fanout.books.run_books import RunBooks
from fanout.forecast.spending import over_budget
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import INFRASTRUCTURE, OutOfBudget, OutOfTime, RunError
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.request.options import Verify
from fanout.request.plan import Plan
from fanout.shards.big_files import parts_of_big_files
from fanout.shards.partitioned import is_partitioned
from fanout.shards.record import all_records, records
from fanout.shards.round_records import segment_key
from fanout.shards.shard_results import SHARD_FAILED, Absent, ShardResult

_LIMITS = {OutOfTime.__name__: "limits.max_seconds", OutOfBudget.__name__: "limits.max_dollars"}


# Reasons of entries that no task came to. None of them is a difference.
_NOT_REACHED = (Reason.SHARD_FAILED, Reason.NOT_VERIFIED)


def limit_passed(plan: Plan, ledger: Ledger, now: float) -> RunError | None:
    """The error of a run whose own limit stops it by now; ``None`` for none."""
    ends_at, limits = plan.ends_at, plan.request.limits
    if ends_at is not None and limits.max_seconds is not None and now >= ends_at:
        return RunError(OutOfTime.__name__, str(OutOfTime(limits.max_seconds)))
    spent = over_budget(plan, ledger, now)
    return None if spent is None else RunError(OutOfBudget.__name__, str(spent))


def absent_by(plan: Plan, ledger: Ledger, now: float) -> Absent:
    """Why an entry of a shard has no outcome: the limit that stopped the run by now, or nobody knows."""
    passed = limit_passed(plan, ledger, now) if is_partitioned(ledger) else None
    return SHARD_FAILED if passed is None else Absent(Reason.SHARD_FAILED, passed.message)


def stopped_by_limit(
    plan: Plan, reasons: Mapping[Reason, int], error: RunError | None, ledger: Ledger, now: float
) -> RunError | None:
    """The run's end by its own limit: where entries are left, or a Map broke off because its tasks stopped.

    ``reasons`` count the entries that were not copied, not compared, or not deleted.
    """
    left = any(reasons.get(reason, 0) for reason in _NOT_REACHED)
    stopped = error.name == INFRASTRUCTURE if error is not None else left
    return (limit_passed(plan, ledger, now) or error) if stopped else error


def with_way_on(
    error: RunError | None, plan: Plan, found: RunBooks, deleted: ShardResult, ledger: Ledger
) -> RunError | None:
    """The error of a run that a limit stopped, with what to do next; the module's table is the contract."""
    if error is None or error.name not in _LIMITS:
        return error
    course, limit = plan.request.course, _LIMITS[error.name]
    further = _got_further(plan, found, deleted, ledger)
    way_on = "start the request again"
    if course.resumable:
        way_on += f" with resume_from {plan.run_id}"
    if not further:
        joint = " and" if course.resumable else " with"
        way_on = f"this run got no further with it: {way_on}{joint} a higher {limit}"
    elif course.copies and not course.carries_over:
        way_on += ": what is done is found unchanged"
        if plan.request.verifies_after is Verify.COPIED:
            way_on += " and not verified again, so verify it with mode verify"
    elif error.name == OutOfBudget.__name__:
        way_on += ", which has a budget of its own"
    return RunError(error.name, f"{error.message}; {way_on}")


def _got_further(plan: Plan, found: RunBooks, deleted: ShardResult, ledger: Ledger) -> bool:
    course = plan.request.course
    done = found.books.by_result[Result.COPIED] + deleted.results[Result.DELETED]
    if done.entries:
        return True
    if course.carries_over and (_listed_anew(ledger) or _verified_anew(found.shards, ledger)):
        return True
    takes_proofs = course.resumable and not plan.request.certificate
    return takes_proofs and _proven_anew(ledger if course.compares else ledger.verification())


def _listed_anew(ledger: Ledger) -> bool:
    """Whether a segment was listed, other than those that were taken over."""
    listed = set(ledger.keys(keys.SEGMENTS_DONE))
    for number in count(1):
        if not ledger.has(keys.round_key(number)):
            return False
        segments = ledger.read(keys.round_key(number))
        if any(not one.carried and segment_key(one.id) in listed for one in segments):
            return True
    raise AssertionError


def _verified_anew(shards: Sequence[Shard], ledger: Ledger) -> bool:
    """Whether a copy was verified: none is a second time, unless it is there no more."""
    found = (record for shard in shards for record in records(keys.verified_id(shard.id), ledger))
    return any(record.results[Result.COPIED].entries for record in found)


def _proven_anew(comparison: Ledger) -> bool:
    """Whether the comparison proved an entry, or read a block of one, that no earlier one had."""
    blocks = {
        one(part.id)
        for parts in parts_of_big_files(comparison).values()
        for part in parts
        for one in (keys.source_id, keys.verified_id)
    }
    return any(
        (record.entries if record.shard_id in blocks else record.proven.entries if record.proven else 0)
        > record.taken_over
        for record in all_records(comparison)
    )
