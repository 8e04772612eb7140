"""PackShard: stages the entries of a shard that are neither staged nor settled, where the source is mounted."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fanout.copying.copier import Copier, never_same
from fanout.copying.copy_blocks import move_blocks
from fanout.copying.copy_shard import OutcomeWriter, out_of_time_outcome, settled_indexes
from fanout.forecast.of_run import threads_of
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.errors import Transient
from fanout.model.outcome import Outcome, Reason, Result
from fanout.model.shard import Shard
from fanout.request.options import Compare
from fanout.shards.tasks.attempts import Progress
from fanout.shards.tasks.notes import TaskNotes
from fanout.staging.digest_destination import same_as_noted
from fanout.staging.pack_writer import PackWriter
from fanout.staging.packed_tree import staged_entries
from fanout.staging.staged_blocks import ConfirmedTree, StagedBlockTarget
from fanout.verifying.verifier import Verifier
from fanout.work.context import Context


def pack_shard(shard: Shard, context: Context) -> Json:
    """Stage what it has time for; returns ``cursor`` (entries staged now) and ``done``, which UnpackShard decides.

    An entry that cannot be read gets its outcome here. Raises ``Transient`` if nothing at all could be staged for
    temporary reasons.
    """
    if shard.blocks is not None:
        return {"cursor": _pack_blocks(shard, context).cursor, "done": False}
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    settled, staged = settled_indexes(shard, ledger), staged_entries(ledger.staged(), shard.id)
    entries = enumerate(ledger.read_shard(shard))
    work = [(index, entry) for index, entry in entries if index not in settled and entry.path not in staged]
    deadline = context.deadline()
    packs = PackWriter(ledger.staged(), shard.id, context.nonce, context.clock.now)
    source = context.source(plan)
    same: Callable[[Entry], str | None] = never_same
    if plan.request.compare is Compare.CHECKSUM:
        same = same_as_noted(shard, source, Verifier(source, deadline, context.limiter), context)
    copier = Copier(
        source,
        packs,
        deadline,
        symlinks=plan.request.symlinks,
        same=same,
        limiter=context.limiter,
        now=context.clock.now,
    )
    notes = TaskNotes("pack", shard.id, ledger, context.nonce, context.clock, len(settled) + len(staged))
    _pack(work, copier, packs, OutcomeWriter(shard, context, plan=plan), notes, context, threads_of(ledger))
    return {"cursor": packs.staged_entries, "done": False}


def _pack(
    work: list[tuple[int, Entry]],
    copier: Copier,
    packs: PackWriter,
    writer: OutcomeWriter,
    notes: TaskNotes,
    context: Context,
    most: int,
) -> None:
    """Stage entries with ``most`` threads, and write the outcomes of those that cannot be."""
    held_back: dict[int, Outcome] = {}
    threads = min(most, len(work)) or 1
    done = copier.copy_all(work, threads)
    for index, outcome in notes.along(done, lambda one: one.size if one.result is Result.COPIED else 0):
        if outcome.reason is Reason.TRANSIENT:
            held_back[index] = outcome
        elif outcome.result is not Result.COPIED:
            writer.add(index, outcome, [])
    packs.flush()
    writer.flush([])
    if packs.staged_entries or writer.written:
        for index, outcome in held_back.items():
            writer.add(index, outcome, [])
    elif held_back:
        message = next(iter(held_back.values())).message
        raise Transient(f"{len(held_back)} of {len(work)} entries failed, none was staged: {message}")
    else:
        for index, entry in copier.unfinished:
            if not context.leaves(entry.size):  # otherwise the next task continues it
                writer.add(index, out_of_time_outcome(entry), [])
    writer.flush([])


def _pack_blocks(shard: Shard, context: Context) -> Progress:
    assert shard.blocks is not None
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    big = ledger.read_big_file(shard.key)
    settled = settled_indexes(shard, ledger)
    wanted = [index for index in range(*shard.blocks) if index not in settled]
    source = ConfirmedTree(context.source(plan), ledger)
    target = StagedBlockTarget(ledger.staged(), shard.id)
    packing = replace(shard, id=keys.packed_id(shard.id))
    notes = TaskNotes("pack", shard.id, ledger, context.nonce, context.clock)
    return move_blocks(packing, big, source, target, wanted, context, notes=notes)
