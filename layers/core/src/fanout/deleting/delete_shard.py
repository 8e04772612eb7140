"""DeleteShard: deletes entries of a shard that have no outcome yet, until they are done or the time is up.

They are the extras of a sync at the destination or, of a move, what is proven equal, at the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fanout.deleting.missing_at_source import LookAtSource, leave, look_at_copy, look_at_source
from fanout.deleting.source_looks import looked_at, noted_look
from fanout.facts import tuning
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import AccessDenied, ItemError, problem_of
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.ports.limiter import Limiter
from fanout.ports.tree import DeletingTree
from fanout.shards.entry_report import report_done
from fanout.shards.record import write_outcomes
from fanout.shards.tasks.outcome_writer import settled_indexes
from fanout.shards.tasks.shard_task import ShardTask
from fanout.verifying.moved import stays
from fanout.work.context import Context
from fanout.work.parallel import work_on

NumberedExtras = list[tuple[int, Entry]]


def delete_shard(shard: Shard, context: Context) -> Json:
    """Look at each entry that has no outcome, delete it if it may go, and write the outcomes.

    A sync deletes what is still as listed, and still missing at the source; between two mounts, what a function at the
    source looked for just before. A move deletes at the source what still has its copy.

    Returns ``cursor`` (outcomes so far) and ``done``. An entry that is gone already counts as deleted, so a
    second delivery changes nothing. Raises ``Transient`` if nothing at all could be deleted for
    temporary reasons, and the errors of ``check`` if the source is not there any more.
    """
    task = ShardTask("delete", "deleted", shard, context)
    plan, ledger = task.plan, task.ledger
    tree = context.deleted_from(plan)
    entries = list(ledger.read_shard(shard))
    left = task.left(enumerate(entries), settled_indexes(shard, ledger))
    if plan.moves:
        look = leave if stays(shard) else look_at_copy(tree, context.seen_destination(plan), plan, context)
    elif plan.request.between_mounts:
        look, left = noted_look(shard, entries, ledger), looked_at(shard, left, context.clock.now(), ledger)
    else:
        bucket = tree if plan.request.destination.is_keyed else None
        look = look_at_source(context.source(plan), plan, ledger, bucket)
    outcomes: dict[int, Outcome] = {}
    threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, -(-len(left) // tree.delete_batch)) or 1
    work = deleter(look, tree, Reason.SOURCE_NOT_DELETED if plan.moves else Reason.DESTINATION_DENIED)
    together = names_together(left)
    batches = enumerate(batches_within_rate(together, tree.delete_batch, task.limiter, task.deadline))
    for _, found in work_on(batches, work, threads, task.deadline, []):
        outcomes |= found
    task.too_late(len(left), outcomes)
    if outcomes:
        report_done(plan, ledger.whole_run(), "delete", f"{shard.id}-{context.nonce}", outcomes.values())
        write_outcomes(shard.id, context.nonce, outcomes, ledger)
    return task.progress(len(outcomes)).answer


def batches_within_rate(
    left: NumberedExtras, most: int, limiter: Limiter, deadline: Deadline
) -> Iterator[NumberedExtras]:
    """The entries in batches of up to ``most``, each of what the run's rate lets begin at once.

    Waits for the first entry of a batch, and for further names of a file: only the end of the time parts them.
    """
    start = 0
    while start < len(left) and limiter.admit(deadline):
        end = start + 1
        while end < len(left) and (
            limiter.admit(deadline) if _same_file(left, end) else end < start + most and not limiter.ask_to_begin(1, 0)
        ):
            end += 1
        yield left[start:end]
        start = end


def names_together(left: NumberedExtras) -> NumberedExtras:
    """The entries, with further names of a file after its first one."""
    first: dict[str, int] = {}
    return sorted(left, key=lambda one: first.setdefault(one[1].inode, one[0]) if one[1].inode else one[0])


def _same_file(left: NumberedExtras, index: int) -> bool:
    inode = left[index][1].inode
    return bool(inode) and inode == left[index - 1][1].inode


def deleter(look: LookAtSource, tree: DeletingTree, denied: Reason) -> Callable[[NumberedExtras], dict[int, Outcome]]:
    """Return the function that deletes a batch and returns the outcomes by index; ``denied`` is why it may not."""

    def delete(batch: NumberedExtras) -> dict[int, Outcome]:
        kept = {index: problem for index, entry in batch if (problem := look(entry)) is not None}
        going = [(index, entry) for index, entry in batch if index not in kept]
        try:
            problems = tree.delete([entry for _, entry in going]) if going else {}
        except AccessDenied as error:
            problems = {entry.path: ItemError(denied, str(error)) for _, entry in going}
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            problems = {entry.path: problem for _, entry in going}
        return {index: outcome_of(entry, kept.get(index) or problems.get(entry.path)) for index, entry in batch}

    return delete


def outcome_of(entry: Entry, problem: ItemError | None) -> Outcome:
    """The outcome of an entry: deleted, or why it was kept."""
    if problem is None:
        return Outcome.done(entry, Result.DELETED)
    return Outcome.because(entry, problem.reason, problem.message)
