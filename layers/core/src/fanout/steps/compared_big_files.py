"""What comparing both ends of big files found, from the checksums of their blocks."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.domain import ledger_keys as keys
from fanout.domain.big_files import BigFile, Receipt, big_file_from_row, whole_checksum
from fanout.domain.books import tally
from fanout.domain.checksums import to_base64
from fanout.domain.digests import entry_digest
from fanout.domain.outcomes import Outcome, Reason, Result
from fanout.domain.partitioning import Shard
from fanout.ledger import Ledger
from fanout.steps.assemble_big_files import parts_of_big_files
from fanout.steps.rounds import rounds_done
from fanout.steps.shard_results import ShardResult
from fanout.steps.verifying import Verified


def compared_big_files(ledger: Ledger) -> Iterator[Verified]:
    """The outcome of every big file that was only compared, with its digests at both ends."""
    parts = parts_of_big_files(ledger)
    for done in rounds_done(ledger):
        for row in done["big_files"]:
            key = keys.big_file_key(row["id"])
            yield _compared(ledger.read_as(key, big_file_from_row), parts.get(key, []), ledger)


def compared_result(ledger: Ledger) -> ShardResult:
    """The same as totals and failures."""
    outcomes = [verified.outcome for verified in compared_big_files(ledger)]
    return ShardResult(tally(outcomes), [outcome for outcome in outcomes if outcome.result is Result.FAILED])


def _compared(big: BigFile, parts: list[Shard], ledger: Ledger) -> Verified:
    here, there = (_receipts(ledger, [name(part.id) for part in parts]) for name in (keys.source_id, keys.verified_id))
    entry = big.entry
    bad = next((receipt for receipt in here + there if receipt.reason is not None), None)
    problem, checksums = None, ("", "")
    if bad is not None:
        problem = (bad.reason or Reason.NOT_VERIFIED, f"block {bad.index}: {bad.message}")
    elif min(len(here), len(there)) < big.blocks:
        problem = (Reason.NOT_VERIFIED, f"{min(len(here), len(there))} of {big.blocks} blocks were compared")
    else:
        checksums = to_base64(whole_checksum(big, here)), to_base64(whole_checksum(big, there))
        if checksums[0] != checksums[1]:
            block = next(one.index for one, other in zip(here, there, strict=True) if one.crc64nvme != other.crc64nvme)
            problem = (Reason.CHECKSUM, f"block {block} of {big.block_bytes} bytes is the first that differs")
    if problem is None:
        outcome = Outcome(entry.path, entry.kind.value, entry.size, Result.UNCHANGED, crc64nvme=checksums[0])
    else:
        outcome = Outcome(entry.path, entry.kind.value, entry.size, Result.FAILED, *problem)
    return Verified(outcome, entry_digest(entry, checksums[0]), entry_digest(entry, checksums[1]))


def _receipts(ledger: Ledger, ids: list[str]) -> list[Receipt]:
    found: dict[int, Receipt] = {}
    for one in ids:
        found |= ledger.read_receipts(one)
    return [found[index] for index in sorted(found)]
