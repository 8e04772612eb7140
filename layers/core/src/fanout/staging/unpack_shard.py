"""UnpackShard: writes what PackShard staged, where the destination is mounted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanout.copying.copier import Copier
from fanout.copying.copy_blocks import move_blocks
from fanout.copying.copy_shard import copy_work
from fanout.copying.forked_copier import NumberedEntry
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.shards.record import read_receipts, write_receipts
from fanout.shards.tasks.attempts import TaskProgress, noted
from fanout.shards.tasks.forecast_threads import threads_of
from fanout.shards.tasks.outcome_writer import settled_indexes
from fanout.shards.tasks.settle_done import settle_done
from fanout.shards.tasks.shard_task import ShardTask
from fanout.staging.pack_writer import BROKEN, INDEX
from fanout.staging.packed_tree import PackedDirectories, PackedTree, staged_entries
from fanout.staging.staged_blocks import StagedBlocksTree
from fanout.work.context import Context

PACK, UNPACK, DONE = "pack", "unpack", "done"
# Chosen: one broken object is chance, the third is a cause that stays.
STAGED_AGAIN = 2


def unpack_shard(shard: Shard, context: Context) -> Json:
    """Write what is staged and has no outcome; returns ``cursor`` (outcomes so far), ``done`` and ``next``.

    ``next`` is ``unpack`` while staged entries are left, ``pack`` while others are. When every entry
    has an outcome, what is staged for the shard is removed. Entries whose staged bytes are broken are staged again,
    up to ``STAGED_AGAIN`` times.
    """
    unpack = _unpack_entries if shard.blocks is None else _unpack_blocks
    left = False

    def work() -> TaskProgress:
        nonlocal left
        progress, left = unpack(shard, context)
        if progress.done:
            context.ledger.staged().remove(f"{shard.id}/")
        return progress

    answer = noted("copy", shard, context, work)
    return {**answer, "next": DONE if answer["done"] else UNPACK if left else PACK}


def _unpack_entries(shard: Shard, context: Context) -> tuple[TaskProgress, bool]:
    """Outcomes so far, and whether staged entries are left."""
    if shard.done:
        return settle_done(shard, context), False
    task = ShardTask("copy", "copied", shard, context)
    ledger, staged = task.ledger, staged_entries(task.ledger.staged(), shard.id)
    left = task.left(enumerate(ledger.read_shard(shard)), settled_indexes(shard, ledger))
    work = [(index, entry) for index, entry in left if entry.path in staged.entries]
    work.sort(key=lambda item: staged.entries[item[1].path].place)
    destination = context.destination(task.plan)
    copier = Copier(
        PackedTree(ledger.staged(), staged.entries.values()),
        destination,
        task.deadline,
        symlinks=task.plan.request.symlinks,
        limiter=task.limiter,
        now=context.clock.now,
    )
    if destination.file_system is not None:
        are_entries = task.plan.request.manifest is None
        above = PackedDirectories(staged.above, copier.directories.append, are_entries=are_entries)
        destination.file_system.close_by(above)
    times_broken = sum(1 for _ in ledger.staged().keys(f"{shard.id}/{BROKEN}/"))
    unbroken = _Unbroken(copier, may_leave=times_broken < STAGED_AGAIN)
    try:
        writer = copy_work(work, unbroken, task, threads_of(ledger))
    finally:
        if unbroken.left_out:
            _forget_staged(shard, context)
    has_left = writer.written < len(work) and not unbroken.left_out
    return task.progress(writer.written, writer.copied, writer.failures), has_left


class _Unbroken:
    """A ``CopiesEntries`` of what is staged. It may leave entries whose staged bytes are broken without an outcome."""

    def __init__(self, copier: Copier, *, may_leave: bool) -> None:
        self._copier, self._may_leave = copier, may_leave
        self.directories, self.unfinished = copier.directories, copier.unfinished
        self.take_made = copier.take_made
        self.left_out = 0

    def copy_all(self, entries: Sequence[NumberedEntry], threads: int) -> Iterator[tuple[int, Outcome]]:
        for index, outcome in self._copier.copy_all(entries, threads):
            if self._may_leave and outcome.reason is Reason.STAGED_BROKEN:
                self.left_out += 1
            else:
                yield index, outcome


def _forget_staged(shard: Shard, context: Context) -> None:
    """Without its index nothing counts as staged: PackShard stages anew, under other names."""
    staged = context.ledger.staged()
    staged.write_bytes(f"{shard.id}/{BROKEN}/{context.nonce}", b"")
    staged.remove(f"{shard.id}/{INDEX}/")


def _unpack_blocks(shard: Shard, context: Context) -> tuple[TaskProgress, bool]:
    """Receipts so far, and whether staged blocks are left. Blocks that could not be read keep their reason."""
    task = ShardTask("copy", "copied", shard, context)
    ledger = task.ledger
    big = ledger.read_big_file(shard.key)
    packed, known = read_receipts(keys.packed_id(shard.id), ledger), read_receipts(shard.id, ledger)
    failed = {index: one for index, one in packed.items() if one.reason is not None and index not in known}
    if failed:
        write_receipts(shard.id, f"{context.nonce}-source", failed, 0, ledger)
    ready = [index for index, one in packed.items() if one.reason is None]
    source = StagedBlocksTree(ledger.staged(), shard.id, big, packed)
    target = context.destination(task.plan).open_blocks(big.entry.placed, big.token)
    progress = move_blocks(shard, big, source, target, ready, task)
    return progress, progress.cursor < len(packed)
