"""Verifying a part of a big file: each block is read back, unless the store keeps a checksum of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from fanout.domain import ledger_keys as keys
from fanout.domain import limits
from fanout.domain.big_files import BigFile, Receipt, big_file_from_row, whole_checksum
from fanout.domain.books import Count
from fanout.domain.checksums import Crc64Nvme
from fanout.domain.coverage import indexes_of
from fanout.domain.entries import Found
from fanout.domain.errors import FanoutError, ItemError, Transient, problem_of
from fanout.domain.outcomes import Outcome, Reason, Result
from fanout.domain.partitioning import Shard
from fanout.domain.request import Mode
from fanout.ledger import Ledger
from fanout.ports import Source, Tree
from fanout.steps.assemble_big_files import parts_of_big_files
from fanout.steps.attempts import Progress
from fanout.steps.byte_budget import ByteBudget
from fanout.steps.compare_blocks import checksum_of_block, compare_blocks
from fanout.steps.context import Context
from fanout.steps.limiter import Limiter
from fanout.steps.parallel import work_on


def verify_blocks(shard: Shard, context: Context, crc64nvme: Crc64Nvme) -> Progress:
    """Verify the blocks of a part that have not been; no block is an entry.

    A big file that was not completed has nothing to verify: it is a failed entry already.
    """
    assert shard.blocks is not None
    ledger = context.ledger
    plan = ledger.read_plan()
    big = ledger.read_as(shard.key, big_file_from_row)
    outcomes_id = keys.verified_id(shard.id)
    known = {index for file in ledger.outcome_files(outcomes_id) for index in indexes_of(file.ranges)}
    left = [index for index in range(*shard.blocks) if index not in known]
    if plan.request.mode is Mode.VERIFY:
        return compare_blocks(shard, big, context, plan, crc64nvme)
    destination = context.destination(plan)
    try:
        outcomes = _outcomes(shard, big, left, destination, context, crc64nvme)
    except FanoutError:
        raise
    except Exception as error:  # noqa: BLE001 - see problem_of
        problem = problem_of(error)
        outcomes = {index: _failed(big, index, problem) for index in left}
    if outcomes:
        size = sum(big.block(index)[1] for index, outcome in outcomes.items() if outcome.result is Result.COPIED)
        ledger.write_outcomes(outcomes_id, context.nonce, outcomes, {Result.COPIED: Count(0, size)})
    total = len(known) + len(outcomes)
    compared = sum(big.block(index)[1] for index in outcomes)
    return Progress(total, total >= shard.items, Count(0, compared))


def _outcomes(
    shard: Shard, big: BigFile, left: list[int], destination: Tree, context: Context, crc64nvme: Crc64Nvme
) -> dict[int, Outcome]:
    """What the destination holds, compared. Raises ``ItemError`` for what is wrong with the whole file."""
    found = destination.find_stored(big.entry.placed.path)
    if found is None or found.entry.size != big.entry.size:
        raise ItemError(Reason.MISSING, "the destination does not hold the whole file")
    if found.crc64nvme is not None:
        return _by_the_stores_word(big, left, found, context.ledger)
    receipts, stop_at = _receipts(shard, left, context.ledger), context.stop_at
    out_of_time = lambda: context.clock.now() > stop_at  # noqa: E731
    return _by_reading(big, left, found, receipts, destination, crc64nvme, out_of_time, context.limiter)


def _receipts(part: Shard, wanted: Iterable[int], ledger: Ledger) -> dict[int, Receipt]:
    """The receipts of a part of a file that is whole. Raises ``LedgerBroken`` if one is missing."""
    found = ledger.read_receipts(part.id)
    missing = next((index for index in wanted if index not in found), None)
    if missing is not None:
        raise ledger.broken(keys.outcomes_prefix(part.id), f"lacks what was written of block {missing}")
    return found


def _by_the_stores_word(big: BigFile, left: list[int], found: Found, ledger: Ledger) -> dict[int, Outcome]:
    receipts: dict[int, Receipt] = {}
    for part in parts_of_big_files(ledger)[keys.big_file_key(big.id)]:
        assert part.blocks is not None
        receipts |= _receipts(part, range(*part.blocks), ledger)
    if found.crc64nvme == whole_checksum(big, [receipts[index] for index in sorted(receipts)]):
        return {index: _verified(big, index) for index in left}
    error = ItemError(Reason.CHECKSUM, "the destination's checksum of the whole differs")
    return {index: _failed(big, index, error) for index in left}


def _by_reading(
    big: BigFile,
    left: list[int],
    found: Found,
    receipts: dict[int, Receipt],
    destination: Tree,
    crc64nvme: Crc64Nvme,
    out_of_time: Callable[[], bool],
    limiter: Limiter,
) -> dict[int, Outcome]:
    source = destination.open(found.entry)
    budget = ByteBudget(limits.BUFFER_BYTES)
    threads = max(1, min(limits.BLOCKS_IN_FLIGHT, len(left)))
    check = partial(_check, big, source, receipts, crc64nvme, budget, lambda size: limiter.read(size, out_of_time))
    try:
        outcomes = dict(work_on([(index, index) for index in left], check, threads, out_of_time, []))
    finally:
        source.close()
    passing = [outcome for outcome in outcomes.values() if outcome.reason is Reason.TRANSIENT]
    if passing and len(passing) == len(outcomes):
        raise Transient(f"{len(passing)} blocks could not be verified: {passing[0].message}")
    return outcomes


def _check(
    big: BigFile,
    source: Source,
    receipts: dict[int, Receipt],
    crc64nvme: Crc64Nvme,
    budget: ByteBudget,
    hold_back: Callable[[int], None],
    index: int,
) -> Outcome:
    offset, length = big.block(index)
    try:
        hold_back(length)
        with budget.take(length):
            checksum = checksum_of_block(source, offset, length, crc64nvme)
        if checksum != receipts[index].crc64nvme:
            raise ItemError(Reason.CHECKSUM, f"block {index} differs")
    except Exception as error:  # noqa: BLE001 - see problem_of
        return _failed(big, index, problem_of(error))
    return _verified(big, index)


def _verified(big: BigFile, index: int) -> Outcome:
    return Outcome(big.entry.path, big.entry.kind.value, big.block(index)[1], Result.COPIED)


def _failed(big: BigFile, index: int, error: ItemError) -> Outcome:
    entry, message = big.entry, f"block {index}: {error.message}"
    return Outcome(entry.path, entry.kind.value, big.block(index)[1], Result.FAILED, error.reason, message)
