"""UnpackShard: writes what PackShard staged, where the destination is mounted."""

from __future__ import annotations

from fanout.domain import ledger_keys as keys
from fanout.domain.big_files import big_file_from_row
from fanout.domain.checksums import Crc64Nvme
from fanout.domain.partitioning import Shard
from fanout.domain.rows import Json
from fanout.steps.attempts import Progress, noted
from fanout.steps.context import Context
from fanout.steps.copy_blocks import move_blocks
from fanout.steps.copy_shard import copy_work, settled_indexes
from fanout.steps.copying import Copier
from fanout.steps.packed_tree import PackedTree, staged_entries
from fanout.steps.staged_blocks import StagedBlocksTree

PACK, UNPACK, DONE = "pack", "unpack", "done"


def unpack_shard(shard: Shard, context: Context, crc64nvme: Crc64Nvme) -> Json:
    """Write what is staged and has no outcome; returns ``cursor`` (outcomes so far), ``done`` and ``next``.

    ``next`` is ``unpack`` while staged entries are left, ``pack`` while others are. When every entry
    has an outcome, what is staged for the shard is removed.
    """
    unpack = _unpack_entries if shard.blocks is None else _unpack_blocks
    left = False

    def work() -> Progress:
        nonlocal left
        progress, left = unpack(shard, context, crc64nvme)
        if progress.done:
            context.ledger.staged().remove(f"{shard.id}/")
        return progress

    stands = noted("copy", shard, context, work)
    return {**stands, "next": DONE if stands["done"] else UNPACK if left else PACK}


def _unpack_entries(shard: Shard, context: Context, crc64nvme: Crc64Nvme) -> tuple[Progress, bool]:
    """Outcomes so far, and whether staged entries are left."""
    ledger = context.ledger
    plan = ledger.read_plan()
    settled, staged = settled_indexes(shard, ledger), staged_entries(ledger.staged(), shard.id)
    entries = enumerate(ledger.read_shard(shard))
    work = [(index, entry) for index, entry in entries if index not in settled and entry.path in staged]
    work.sort(key=lambda item: staged[item[1].path].place)
    stop_at = context.stop_at
    copier = Copier(
        PackedTree(ledger.staged(), staged.values()),
        context.destination(plan),
        crc64nvme,
        lambda: context.clock.now() > stop_at,
        symlinks=plan.request.symlinks,
        limiter=context.limiter,
    )
    writer = copy_work(work, copier, shard, context)
    total = len(settled) + writer.written
    return Progress(total, total >= shard.items, writer.copied), writer.written < len(work)


def _unpack_blocks(shard: Shard, context: Context, crc64nvme: Crc64Nvme) -> tuple[Progress, bool]:
    """Receipts so far, and whether staged blocks are left. Blocks that could not be read keep their reason."""
    ledger = context.ledger
    plan = ledger.read_plan()
    big = ledger.read_as(shard.key, big_file_from_row)
    packed, known = ledger.read_receipts(keys.packed_id(shard.id)), ledger.read_receipts(shard.id)
    failed = {index: one for index, one in packed.items() if one.reason is not None and index not in known}
    if failed:
        ledger.write_receipts(shard.id, f"{context.nonce}-source", failed, 0)
    ready = [index for index, one in packed.items() if one.reason is None]
    source = StagedBlocksTree(ledger.staged(), shard.id, big, packed, crc64nvme)
    target = context.destination(plan).open_blocks(big.entry.placed, big.token)
    progress = move_blocks(shard, big, source, target, ready, context, crc64nvme)
    return progress, progress.cursor < len(packed)
