"""Copying a part of a big file: blocks, several at a time, each with a receipt in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress

from msgspec import Struct

from fanout.copying.copier import copy_block
from fanout.facts import aws, tuning
from fanout.model.books import Count
from fanout.model.checksum import NO_BYTES, append_zeros
from fanout.model.deadline import Deadline
from fanout.model.errors import FanoutError, ItemError, TimeUp, Transient, problem_of
from fanout.model.outcome import Reason
from fanout.model.shard import BigFile, Receipt, Shard, failed_block
from fanout.ports.limiter import Limiter
from fanout.ports.tree import BlockTarget, OpensEntries, Source
from fanout.shards.record import read_receipts, write_receipts
from fanout.shards.tasks.attempts import TaskProgress
from fanout.shards.tasks.shard_task import ShardTask
from fanout.work.context import Context
from fanout.work.threads import ByteBudget


class BlockLimits(Struct, frozen=True):
    """How many blocks are copied at once, and in pieces of what size each is read and written."""

    in_flight: int
    piece_bytes: int


ANY_STORE = BlockLimits(tuning.BLOCKS_IN_FLIGHT, aws.COPY_OBJECT_BYTES)  # as a whole
# From a bucket to a mount: a piece is one request. Only a file of more than 10,000 such pieces has larger blocks.
FROM_BUCKETS = BlockLimits(tuning.BLOCKS_IN_FLIGHT_FROM_BUCKETS, tuning.BLOCK_BYTES)
ON_MOUNTS = BlockLimits(tuning.BLOCKS_IN_FLIGHT_ON_MOUNTS, tuning.BLOCK_BYTES_ON_MOUNTS)


def copy_blocks(shard: Shard, context: Context) -> TaskProgress:
    """Copy the blocks of a part that have no receipt yet; the cursor counts receipts, no block is an entry.

    Raises ``Transient`` if blocks failed for reasons that may pass; those that were copied count.
    """
    assert shard.blocks is not None
    context.ledger.settle()
    task = ShardTask("copy", "copied", shard, context)
    plan = task.plan
    big = task.ledger.read_big_file(shard.key)
    target = context.destination(plan).open_blocks(big.entry.placed, big.token)
    limits = ON_MOUNTS if context.ends.forks(plan) else FROM_BUCKETS if target.takes_pieces else ANY_STORE
    return move_blocks(shard, big, context.source(plan), target, range(*shard.blocks), task, limits)


def move_blocks(
    shard: Shard,
    big: BigFile,
    source_tree: OpensEntries,
    target: BlockTarget,
    blocks: Iterable[int],
    task: ShardTask,
    limits: BlockLimits = ANY_STORE,
) -> TaskProgress:
    """Copy those of ``blocks`` that have no receipt under the shard's id; as ``copy_blocks``."""
    ledger, context = task.ledger, task.context
    known = read_receipts(shard.id, ledger)
    wanted = task.left(((index, index) for index in blocks), known)
    try:
        source = source_tree.open(big.entry)
    except FanoutError:
        raise
    except Exception as error:  # noqa: BLE001 - see problem_of
        problem = problem_of(error)
        failed = {index: failed_block(index, problem) for index, _ in wanted}
        write_receipts(shard.id, f"{context.nonce}-source", failed, 0, ledger)
        return TaskProgress(shard.items, True, Count())
    try:
        copier = _BlockCopier(big, source, target, limits, task.limiter)
        written, copied_bytes, passing = _run(copier, [index for index, _ in wanted], shard, task)
    finally:
        source.close()
        with suppress(ItemError):  # what has no receipt is copied again
            target.sync()
    if not written:
        task.too_late(len(wanted), passing)
    total = task.settled + written
    return TaskProgress(total, total >= shard.items, Count(0, copied_bytes))


def _run(copier: _BlockCopier, wanted: list[int], shard: Shard, task: ShardTask) -> tuple[int, int, dict[int, Receipt]]:
    """Copy, and write receipts every ``tuning.CHECKPOINT_SECONDS``.

    Returns their number, the bytes that were copied, and the failures that may pass.
    """
    context = task.context
    held: dict[int, Receipt] = {}
    written = files = copied_bytes = 0
    passing: dict[int, Receipt] = {}
    flushed_at = context.clock.now()

    def flush() -> None:
        nonlocal written, files, copied_bytes, flushed_at
        flushed_at = context.clock.now()
        if held:
            copier.settle(held)
            size = sum(copier.big.block(index)[1] for index, receipt in held.items() if receipt.reason is None)
            write_receipts(shard.id, f"{context.nonce}-{files:04d}", held, size, context.ledger)
            written, files, copied_bytes = written + len(held), files + 1, copied_bytes + size
            held.clear()

    receipts = ((receipt.index, receipt) for receipt in copier.copy(wanted, task.deadline))
    for index, receipt in task.notes().along(receipts, lambda one: 0 if one.reason else copier.big.block(one.index)[1]):
        if receipt.reason is Reason.TRANSIENT:
            passing[index] = receipt
            continue
        held[index] = receipt
        if context.clock.now() - flushed_at >= tuning.CHECKPOINT_SECONDS:
            flush()
    flush()
    return written, copied_bytes, passing


class _BlockCopier:
    def __init__(
        self, big: BigFile, source: Source, target: BlockTarget, limits: BlockLimits, limiter: Limiter
    ) -> None:
        self.big, self._limits, self._limiter = big, limits, limiter
        self._source, self._target = source, target
        self._budget = ByteBudget(tuning.BUFFER_BYTES)

    def copy(self, wanted: list[int], deadline: Deadline) -> Iterator[Receipt]:
        """Receipts as they come; blocks that the time did not reach have none."""
        threads = max(1, min(self._limits.in_flight, len(wanted)))
        with ThreadPoolExecutor(threads) as pool:
            futures: list[Future[Receipt | None]] = [pool.submit(self._copy_block, index, deadline) for index in wanted]
            for future in as_completed(futures):
                receipt = future.result()
                if receipt is not None:
                    yield receipt

    def settle(self, receipts: dict[int, Receipt]) -> None:
        """Have what was written stay, before receipts say that it was; where it does not, they say why.

        Raises ``Transient`` for what may pass: none of them counts then.
        """
        try:
            self._target.sync()
        except ItemError as error:
            if error.reason is Reason.TRANSIENT:
                raise Transient(error.message) from error
            receipts.update({index: failed_block(index, error) for index in receipts})

    def _copy_block(self, index: int, deadline: Deadline) -> Receipt | None:
        offset, length = self.big.block(index)
        piece_bytes = min(self._limits.piece_bytes, length)
        with self._budget.take(piece_bytes):
            if deadline.passed:
                return None
            try:
                # The last block is written even so: it makes the file.
                if self._target.keeps_holes and index < self.big.blocks - 1 and self._source.zeros_at(offset) >= length:
                    return Receipt(index, append_zeros(NO_BYTES, length))
                checksum, words, pieces = NO_BYTES, [""], self._target.takes_pieces
                write = lambda at, data, crc: words.append(self._target.write(index, at, data, crc))  # noqa: E731
                for start in range(0, length, piece_bytes):
                    wanted = min(piece_bytes, length - start)
                    self._limiter.read(wanted, deadline)
                    checksum = copy_block(self._source, offset + start, wanted, checksum, write, pieces=pieces)
                return Receipt(index, checksum, words[-1])
            except TimeUp:
                return None
            except Exception as error:  # noqa: BLE001 - see problem_of
                return failed_block(index, problem_of(error))
