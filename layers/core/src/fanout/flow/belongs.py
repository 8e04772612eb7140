"""A task does what its run has to do: its plan has the step, its ledger the part, and the run still has its turn.

Whoever may invoke a function can send, while a run works, an event of another kind of run, or one that names a part
that the run never cut. Each step of a planned run has a row in ``RUNS``, which says the runs that have it; a step that
works on a part, a segment or a shard, has one in ``PARTS`` too, which holds it against the list that the state before
wrote. All are asked while the task begins to read: see ``own_run``.

A run that was stopped leaves no summary, so its steps can be invoked for as long as its ledger is there. A step that
changes an end therefore has a row in ``TURNS``: it reads the lists of writers in the work bucket (``turns.write_turn``)
and ends as ``Superseded`` where a later run took this one out. On a mount the staging directory shows the same to what
copies there (``adapters.posix.fencing``), so these steps read the lists of buckets alone. What deletes asks at every
end: what it deletes at one end rests on what is at the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanout.flow import calls, events
from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.model.location import Location
from fanout.ports.turns import Turns
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.shards.finished_tree import was_finished
from fanout.shards.partitioned import SHARDS
from fanout.shards.round_records import round_of
from fanout.work.parallel import side_by_side


def _any(_plan: Plan) -> bool:
    return True


def _lists(plan: Plan) -> bool:
    return not plan.request.course.goes_back


def _copies(plan: Plan) -> bool:
    return plan.request.course.copies


def _restores(plan: Plan) -> bool:
    return plan.request.course.copies and plan.request.brings_back


def _compares(plan: Plan) -> bool:
    return plan.request.course.compares


def _copies_or_compares(plan: Plan) -> bool:
    return plan.request.course.copies or plan.request.course.compares


def _deletes(plan: Plan) -> bool:
    """A sync deletes by its own ledger, a move by that of its comparison."""
    return plan.request.course.deletes_extras or plan.proves_move


def _removes(plan: Plan) -> bool:
    """A move that broke off before its comparison gives up its right to write at the source."""
    return plan.request.course.deletes or plan.proves_move


def _publishes(plan: Plan) -> bool:
    return plan.publishes


# The runs, by their plan, that have a step; of the ledger that the step works on.
RUNS: dict[str, Callable[[Plan], bool]] = {
    "CheckMount": _any,
    "CheckOtherMount": _any,
    "TakeOver": _any,
    "ListSegment": _lists,
    "ListOneSegment": _lists,
    "ListDestination": _lists,
    "GatherSegments": _lists,
    "PartitionShards": _lists,
    "RestoreObjects": _restores,
    "CopyShard": _copies,
    "PackShard": _copies,
    "UnpackShard": _copies,
    "PaceCopy": _copies,
    "EndPacing": _copies,
    "DigestDestination": _copies,
    "RecordShardFailure": _copies_or_compares,
    "FinishTree": _any,  # what breaks off goes on there
    "FinishShard": _copies,
    "BeginDeletion": _deletes,
    "LookAtSource": _deletes,
    "DeleteShard": _deletes,
    "LookAtDirectories": _deletes,
    "RemoveDirectories": _removes,
    "BeginVerification": _copies,
    "ComputeChecksums": _compares,
    "DigestShard": _copies_or_compares,
    "VerifyShard": _copies_or_compares,
    "PublishVersion": _publishes,
}


def _unfenced(end: Location) -> bool:
    return not is_fenced(end)


def _every(_end: Location) -> bool:
    return True


# The steps that change an end, and the ends, of those that the run writes, at which each asks for the run's turn.
# CheckMount reads the lists of mounts itself, for the runs that it fences.
TURNS: dict[str, Callable[[Location], bool]] = {
    **dict.fromkeys(("CopyShard", "UnpackShard", "FinishTree", "FinishShard"), _unfenced),
    **dict.fromkeys(("RestoreObjects", "BeginDeletion", "DeleteShard", "RemoveDirectories", "PublishVersion"), _every),
}


def _every_time(_event: Json, _ledger: Ledger) -> bool:
    return True


def _unless_broken(event: Json, _ledger: Ledger) -> bool:
    """One that is handed an error only gives up the right to write."""
    return not events.has_broken_off(event)


def _in_its_own(_event: Json, ledger: Ledger) -> bool:
    """A comparison inside the run has a list of shards of its own, which begins with BeginVerification."""
    return not ledger.is_verification


# The steps that come after FinishTree in a run that copies, and when each needs its mark that the tree is finished.
# The others of that kind need what one of these wrote.
AFTER_FINISH: dict[str, Callable[[Json, Ledger], bool]] = {
    **dict.fromkeys(("BeginDeletion", "BeginVerification"), _every_time),
    **dict.fromkeys(("RemoveDirectories", "PublishVersion"), _unless_broken),
    **dict.fromkeys(("DigestShard", "VerifyShard"), _in_its_own),
}


def _check_segment(event: Json, ledger: Ledger) -> None:
    """Hold a segment against its round, as PlanTransfer, GatherSegments or BeginVerification wrote it."""
    segment = events.segment_of(event)
    number = round_of(segment.id)
    key = keys.round_key(number)
    found = ledger.find_row(key, lambda row: row["id"] == segment.id) if number else None
    if found != segment:
        raise _not_of_the_run("segment", segment.id, key)


def _check_shard(event: Json, ledger: Ledger) -> None:
    """Hold a shard against what PartitionShards cut."""
    shard = events.shard_of(event)
    _check_item(shard, SHARDS, ledger)


def _check_deletion(event: Json, ledger: Ledger) -> None:
    """Hold a shard against what BeginDeletion wrote once its guard had passed."""
    shard = events.shard_of(event)
    _check_item(shard, keys.DELETIONS, ledger)


def _check_finish(event: Json, ledger: Ledger) -> None:
    """Hold a shard of finishing against its round, as FinishTree divided the tree."""
    shard = events.part_of(event, "shard", calls.load("finishing.divide:FinishShard"))
    _check_item(shard, calls.load("finishing.divide:finish_round_key")(round_of(shard.id)), ledger)


def _check_item(shard: Any, key: ObjectKind[Any], ledger: Ledger) -> None:
    found = ledger.find_item(key, shard.id, shard.page)
    if found is None or found.shard != shard:
        raise _not_of_the_run("shard", shard.id, key)


# The part in the event of a step, which the run must have written in all its fields.
PARTS: dict[str, Callable[[Json, Ledger], None]] = {
    "ListSegment": _check_segment,
    "ListOneSegment": _check_segment,
    "ListDestination": _check_segment,
    **dict.fromkeys(("CopyShard", "PackShard", "UnpackShard", "DigestDestination", "RecordShardFailure"), _check_shard),
    **dict.fromkeys(("DigestShard", "VerifyShard"), _check_shard),
    "FinishShard": _check_finish,
    "LookAtSource": _check_deletion,
    "DeleteShard": _check_deletion,
}


def check_course(step: str, plan: Plan) -> None:
    """Raise ``InvalidRequest`` for a step that a run of this plan does not have."""
    if not RUNS[step](plan):
        problem = f"{step} is not a step of a run of mode {plan.request.mode.value}"
        raise InvalidRequest("step", problem, events.FROM_MACHINE)


def check_part(event: Json, ledger: Ledger) -> None:
    """Raise ``InvalidRequest`` for a part that the run did not write, ``LedgerBroken`` if it wrote none so far."""
    check = PARTS.get(event["step"])
    if check is not None:
        check(event, ledger)


def check_finished(event: Json, ledger: Ledger) -> None:
    """Raise ``LedgerBroken`` for a step that comes after FinishTree, unless that has marked the tree as finished."""
    step = event["step"]
    needs = AFTER_FINISH.get(step)
    if needs is None or not needs(event, ledger):
        return
    whole = ledger.whole_run()
    plan = whole.read_plan()
    if plan.request.course.copies and not was_finished(plan, whole):
        problem = f"{step} comes after FinishTree, whose mark for {ledger.run_id} is not there"
        raise LedgerBroken(f"{problem}; {START_AGAIN}")


def check_turn(step: str, ledger: Ledger, turns: Turns | None) -> None:
    """Raise ``Superseded`` for a step that changes an end at which the run does not have its turn any more.

    Asks the store at each call. The plan of a comparison inside a move writes nowhere: that of the whole run counts.
    """
    asks = TURNS.get(step)
    if asks is None or turns is None:
        return
    plan = ledger.whole_run().read_plan()
    ends = [end for end in plan.request.written_ends if asks(end)]
    if ends:
        side_by_side(lambda end: turns.ask(plan, end), ends, len(ends))


def _not_of_the_run(name: str, part: str, key: str) -> InvalidRequest:
    remedy = f"{events.FROM_MACHINE}; if it did, its ledger was changed: start the request again"
    return InvalidRequest(name, f"{part[:80]!r} is not as {key} holds it", remedy)
