"""Verifying a part of a big file that was copied: what was received is held against both ends.

Each block is read again at an end whose store keeps no checksum of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import FanoutError, ItemError, problem_of
from fanout.model.outcome import Reason, Result
from fanout.model.shard import BigFile, Receipt, Shard
from fanout.ports.tree import ReadTree, Source
from fanout.request.plan import Plan
from fanout.shards.big_files import parts_of_big_files, whole_checksum
from fanout.shards.record import read_receipts, record_of, records, settled, write_outcomes
from fanout.shards.shard_results import copied_big_files
from fanout.shards.tasks.attempts import TaskProgress
from fanout.shards.tasks.shard_task import ShardTask
from fanout.verifying.compare_blocks import checksum_of_block, compare_blocks
from fanout.work.context import Context
from fanout.work.parallel import work_on
from fanout.work.threads import ByteBudget

# Raises ``ItemError`` for the block of an index that is not as it should be.
CheckBlock = Callable[[int], None]


def verify_blocks(shard: Shard, context: Context) -> TaskProgress:
    """Verify the blocks of a part that have not been; no block is an entry.

    A big file that was not given its place has nothing to verify: it failed, or what was there is kept.
    """
    task = ShardTask("verify", "verified", shard, context)
    plan, ledger = task.plan, task.ledger
    big = ledger.read_big_file(shard.key)
    if plan.request.course.compares:
        return compare_blocks(big, task)
    assert shard.blocks is not None
    if big.id not in copied_big_files(ledger):
        return TaskProgress(shard.items, True, Count())
    outcomes_id = keys.verified_id(shard.id)
    known = settled(records(outcomes_id, ledger))
    left = task.left(((index, index) for index in range(*shard.blocks)), known)
    reader = _Reader(big, lambda size: task.limiter.read(size, task.deadline))
    outcomes: dict[int, Outcome] = {}
    if left:
        received = _receipts(shard, [index for index, _ in left], ledger)
        try:
            checks = (
                _check_of_destination(big, received, context.destination(plan), ledger, reader),
                _check_of_source(shard, big, received, context, plan, reader),
            )
            outcomes = _checked(big, left, checks, task)
        except FanoutError:
            raise
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            outcomes = {index: _failed(big, index, problem) for index, _ in left}
        finally:
            reader.close()
    if outcomes:
        size = sum(big.block(index)[1] for index, outcome in outcomes.items() if outcome.result is Result.COPIED)
        record = replace(record_of(outcomes), outcomes={Result.COPIED: Count(0, size)})
        write_outcomes(outcomes_id, context.nonce, outcomes, ledger, record)
    return task.progress(len(outcomes), Count(0, sum(big.block(index)[1] for index in outcomes)))


class _Reader:
    """Reads blocks of either end within the memory and the rates of a function."""

    def __init__(self, big: BigFile, hold_back: Callable[[int], None]) -> None:
        self._big, self._hold_back = big, hold_back
        self._budget = ByteBudget(tuning.BUFFER_BYTES)
        self._opened: list[Source] = []

    def open(self, tree: ReadTree, entry: Entry) -> Source:
        """An end, closed with this object."""
        self._opened.append(tree.open(entry))
        return self._opened[-1]

    def checksum(self, source: Source, index: int) -> int:
        """The checksum of a block. Raises ``ItemError``."""
        offset, length = self._big.block(index)
        self._hold_back(length)
        with self._budget.take(length):
            return checksum_of_block(source, offset, length)

    def close(self) -> None:
        for source in self._opened:
            source.close()


def _check_of_destination(
    big: BigFile, received: dict[int, Receipt], destination: ReadTree, ledger: Ledger, reader: _Reader
) -> CheckBlock:
    """Raises ``ItemError`` for a block that the destination does not hold as it was received."""
    found = destination.find_stored(big.entry.placed.path)
    if found is None or found.entry.size != big.entry.size:
        raise ItemError(Reason.MISSING, "the destination does not hold the whole file")
    if found.crc64nvme is not None:
        if found.crc64nvme != _whole_received(big, ledger):
            raise ItemError(Reason.CHECKSUM, "the destination's checksum of the whole differs")
        return lambda index: None
    opened = reader.open(destination, found.entry)

    def check(index: int) -> None:
        if reader.checksum(opened, index) != _of_block(index, received):
            raise ItemError(Reason.CHECKSUM, f"block {index} differs")

    return check


def _check_of_source(
    shard: Shard, big: BigFile, received: dict[int, Receipt], context: Context, plan: Plan, reader: _Reader
) -> CheckBlock:
    """Raises ``ItemError`` for a block that was received otherwise than the source holds it."""
    if plan.request.between_mounts:
        digested = read_receipts(keys.source_id(shard.id), context.ledger)
        return lambda index: _require_same(index, _of_block(index, digested), received)
    source = context.source(plan)
    stored = source.find_stored(big.entry.path)
    if stored is None:
        raise ItemError(Reason.SOURCE_VANISHED, "the entry is no longer there")
    if stored.crc64nvme is not None and stored.entry.etag == big.entry.etag:
        if stored.crc64nvme != _whole_received(big, context.ledger):
            raise ItemError(Reason.CHECKSUM, "what was received is not what the source's store has the checksum of")
        return lambda index: None
    opened = reader.open(source, big.entry)

    def check(index: int) -> None:
        checksum = reader.checksum(opened, index)
        if checksum != _of_block(index, received):
            opened.confirm(None)  # a source that has changed since says so itself
        _require_same(index, checksum, received)

    return check


def _require_same(index: int, at_source: int, received: dict[int, Receipt]) -> None:
    if at_source != _of_block(index, received):
        raise ItemError(Reason.CHECKSUM, f"block {index} is not what the source holds")


def _of_block(index: int, receipts: dict[int, Receipt]) -> int:
    """The checksum of a block as it was noted. Raises ``ItemError`` if it was not."""
    found = receipts.get(index)
    if found is None:
        raise ItemError(Reason.NOT_VERIFIED, f"block {index} was not read")
    if found.reason is not None:
        raise ItemError(found.reason, found.message)
    return found.crc64nvme


def _receipts(part: Shard, wanted: Iterable[int], ledger: Ledger) -> dict[int, Receipt]:
    """The receipts of a part of a file that is whole. Raises ``LedgerBroken`` if one is missing."""
    found = read_receipts(part.id, ledger)
    missing = next((index for index in wanted if index not in found), None)
    if missing is not None:
        raise ledger.broken(keys.outcomes_prefix(part.id), f"lacks what was written of block {missing}")
    return found


def _whole_received(big: BigFile, ledger: Ledger) -> int:
    receipts: dict[int, Receipt] = {}
    for part in parts_of_big_files(ledger)[keys.big_file_key(big.id)]:
        assert part.blocks is not None
        receipts |= _receipts(part, range(*part.blocks), ledger)
    return whole_checksum(big, [receipts[index] for index in sorted(receipts)])


def _checked(
    big: BigFile, left: list[tuple[int, int]], checks: Sequence[CheckBlock], task: ShardTask
) -> dict[int, Outcome]:
    def check(index: int) -> Outcome:
        try:
            for one in checks:
                one(index)
        except Exception as error:  # noqa: BLE001 - see problem_of
            return _failed(big, index, problem_of(error))
        return Outcome.done(_block(big, index), Result.COPIED)

    threads = max(1, min(tuning.BLOCKS_IN_FLIGHT, len(left)))
    done = work_on(left, check, threads, task.deadline, [])
    outcomes = dict(task.notes().along(done, lambda outcome: outcome.size))
    task.too_late(len(left), outcomes)
    return outcomes


def _failed(big: BigFile, index: int, error: ItemError) -> Outcome:
    return Outcome.because(_block(big, index), error.reason, f"block {index}: {error.message}")


def _block(big: BigFile, index: int) -> Entry:
    return replace(big.entry, size=big.block(index)[1])
