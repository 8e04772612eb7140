"""RemoveDirectories: removes directories that are empty by now: extra ones of a sync, or the source's of a move.

At the destination it mends the attributes of those above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from fanout.deleting.delete_shard import outcome_of
from fanout.deleting.deletions import DIRECTORIES_REMOVED, deleted_directories, deleted_files, deletion_shards
from fanout.deleting.missing_at_source import LookAtSource, look_at_copy, look_at_source
from fanout.deleting.source_looks import noted_look
from fanout.facts import tuning
from fanout.finishing.finish_directories import DIRECTORIES_MENDED, finish_directories
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import NEVER
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import ItemError, Superseded, problem_of
from fanout.model.outcome import TROUBLE, Reason
from fanout.model.path_rules import parents_of
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.ports.tree import DeletingTree
from fanout.request.filtering.filters import Filters
from fanout.request.plan import Plan
from fanout.shards.entry_report import report_done
from fanout.shards.made_directories import made_directories
from fanout.shards.record import write_outcomes
from fanout.shards.shard_results import shard_outcomes
from fanout.shards.tasks.outcome_writer import settled_indexes
from fanout.shards.tasks.shard_task import nothing_done
from fanout.turns.withdrawal import clear, has_left, has_left_source, withdraw, withdraw_from_source
from fanout.work.context import Context
from fanout.work.parallel import work_on

_NOTHING_LEFT: Json = {"removed": 0, "done": True}


def remove_directories(context: Context, *, broken: bool = False) -> Json:
    """Remove the directories of all shards, deepest first, then give up the right to write; returns how many, ``done``.

    This is a sync's last change to the destination, or a move's to the source. A run that is ``broken``, or that
    deletes nothing, only gives up the right to write.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    leave, left = (withdraw_from_source, has_left_source) if plan.moves else (withdraw, has_left)
    if broken or left(ledger):
        leave(plan, context)
        return _NOTHING_LEFT
    try:
        answer = _NOTHING_LEFT if _deletes_nothing(plan, ledger) else _remove_directories(plan, context)
    except Superseded as error:
        if not left(ledger):  # by another attempt at the same time
            clear(context.deleted_from(plan), error)
            raise
        return _NOTHING_LEFT
    if answer["done"]:
        ledger.mark(DIRECTORIES_REMOVED)
        leave(plan, context)
    return answer


def _deletes_nothing(plan: Plan, ledger: Ledger) -> bool:
    if plan.moves and not ledger.has(keys.DELETIONS):  # it broke off before, or there was nothing to compare
        return True
    return not deleted_files(ledger) and not deleted_directories(ledger)


def _remove_directories(plan: Plan, context: Context) -> Json:
    """Remove the directories, without giving up the right to write.

    One shard is held at a time. A directory may be listed before its contents, so the shards are read
    again as long as a pass removes something. A directory that is not empty then stays: of a sync it is failed.
    Raises ``Transient`` if the time ended before one was removed.
    """
    ledger = context.ledger
    tree = context.deleted_from(plan)
    if tree.file_system is None and not plan.moves:  # a bucket has no shards of directories
        return _NOTHING_LEFT
    own = None
    if plan.moves:
        own = look_at_copy(tree, context.seen_destination(plan), plan, context)
    elif not plan.request.between_mounts:
        own = look_at_source(context.source(plan), plan, ledger)
    remove = remover(tree)
    shards = [one.shard for one in deleted_directories(ledger)]
    deadline = context.deadline()
    removed = number = 0
    kept: set[str] | None = None
    last = not shards
    while True:
        gone = waiting = 0
        for shard in shards:
            for outcomes in _remove(shard, own, remove, context):
                number += 1
                full = [index for index, one in outcomes.items() if one.reason is Reason.NOT_EMPTY]
                waiting += len(full)
                if not last:
                    outcomes = {index: one for index, one in outcomes.items() if index not in full}
                elif plan.moves:  # what did not move, and what came since
                    outcomes |= {index: _stays(outcomes[index], Reason.HOLDS_MORE) for index in full}
                elif plan.request.filters != Filters():  # what fills it may be what the filters protect
                    outcomes |= {index: _stays(outcomes[index], Reason.FILTERED_NOT_EMPTY) for index in full}
                elif full:
                    kept = _above_what_was_kept(ledger) if kept is None else kept
                    holding = [index for index in full if outcomes[index].path in kept]
                    outcomes |= {index: _stays(outcomes[index], Reason.HOLDS_KEPT) for index in holding}
                if outcomes:
                    name = f"{context.nonce}-{number:06d}"
                    report_done(plan, ledger.whole_run(), "delete", f"{shard.id}-{name}", outcomes.values())
                    write_outcomes(shard.id, name, outcomes, ledger)
                gone += len(outcomes)
                if deadline.passed:
                    if not removed + gone:
                        nothing_done(f"{waiting:,} directories were looked at and none could be removed", context)
                    return {"removed": removed + gone, "done": False}
        removed += gone
        if last or not waiting:
            break
        last = not gone
    if plan.moves:
        return {"removed": removed, "done": True}
    made, mended = made_directories(ledger), DIRECTORIES_MENDED
    _, done = finish_directories(context, context.destination(plan), deadline, made, mended)
    return {"removed": removed, "done": done}


def _above_what_was_kept(ledger: Ledger) -> set[str]:
    """The directories above extras that could not be deleted, each of which has a reason of its own."""
    kept = (one for shard in deletion_shards(ledger) for one in shard_outcomes(shard, ledger, TROUBLE, None))
    return {above for one in kept for above in parents_of(one.path)}


def _stays(outcome: Outcome, reason: Reason) -> Outcome:
    return outcome.instead(reason, outcome.message)


def remover(tree: DeletingTree) -> Callable[[Entry], None]:
    """Return the function that removes a directory that is empty, or in a bucket the object of one.

    It raises ``ItemError`` with ``Reason.NOT_EMPTY`` for one that is not.
    """
    if tree.file_system is not None:
        return tree.file_system.remove_directory

    def remove_object(entry: Entry) -> None:
        if any(one.path != entry.path for one in islice(tree.list(Segment("", entry.path)), 2)):
            raise ItemError(Reason.NOT_EMPTY, "it holds an entry that was not deleted")
        problem = tree.delete([entry]).get(entry.path)
        if problem is not None:
            raise problem

    return remove_object


def _remove(
    shard: Shard, own: LookAtSource | None, remove_one: Callable[[Entry], None], context: Context
) -> Iterator[dict[int, Outcome]]:
    """Outcomes of the shard's directories that have none yet, those of one depth together, deepest first.

    Without an ``own`` look at the source, what a function there noted counts.
    """
    settled, entries = settled_indexes(shard, context.ledger), list(context.ledger.read_shard(shard))
    look = own or noted_look(shard, entries, context.ledger)
    by_depth: dict[int, list[tuple[int, Entry]]] = {}
    for index, entry in enumerate(entries):
        if index not in settled:
            by_depth.setdefault(entry.path.count("/"), []).append((index, entry))

    def remove(entry: Entry) -> Outcome:
        problem = look(entry)
        if problem is None:
            try:
                remove_one(entry)
            except Exception as error:  # noqa: BLE001 - see problem_of
                problem = problem_of(error)
        return outcome_of(entry, problem)

    for depth in sorted(by_depth, reverse=True):
        threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, len(by_depth[depth]))
        yield dict(work_on(by_depth[depth], remove, threads, NEVER, []))
