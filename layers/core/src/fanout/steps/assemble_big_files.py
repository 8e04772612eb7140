"""Putting big files together when all their blocks are there, and discarding the others."""

from __future__ import annotations

from collections import defaultdict

from fanout.domain import ledger_keys as keys
from fanout.domain.big_files import BigFile, Receipt, big_file_from_row, whole_checksum
from fanout.domain.checksums import to_base64
from fanout.domain.errors import FanoutError, ItemError, LedgerBroken
from fanout.domain.outcomes import Outcome, Reason, Result
from fanout.domain.partitioning import Shard
from fanout.domain.rows import Json, outcome_row, shard_from_row
from fanout.ledger import Ledger
from fanout.ports import Tree


def assemble_big_files(ledger: Ledger, source: Tree, destination: Tree) -> None:
    """Complete each big file of the run whose blocks are all there; write the outcomes of all of them.

    What was begun and is not completed is discarded: also what an attempt began that does not count.
    """
    begun = {key: big_file_from_row(ledger.read_json(key)) for key in ledger.keys(keys.BIG_FILES_BEGUN)}
    if not begun:
        return
    parts = parts_of_big_files(ledger)
    counted = {keys.big_file_key(row["id"]) for row in read_or_none(ledger, keys.BIG_FILES)}
    rows = []
    for key, big in begun.items():
        outcome = _assemble(big, parts[key], ledger, source, destination)
        if outcome.result is not Result.COPIED:
            destination.open_blocks(big.entry.placed, big.token).discard()
        if key in counted:
            rows.append({"id": big.id, **outcome_row(outcome)})
    ledger.write_rows(keys.BIG_FILE_OUTCOMES, rows)


def parts_of_big_files(ledger: Ledger) -> dict[str, list[Shard]]:
    """The shards of each big file by the key of its description."""
    parts: defaultdict[str, list[Shard]] = defaultdict(list)
    for row in read_or_none(ledger, keys.SHARDS):
        shard = shard_from_row(row["shard"])
        if shard.blocks is not None:
            parts[shard.key].append(shard)
    return parts


def read_or_none(ledger: Ledger, key: str) -> list[Json]:
    """The rows of a file that a run which broke off early may not have."""
    try:
        rows: list[Json] = ledger.read_json(key)
    except LedgerBroken:
        return []
    return rows


def read_rows_or_none(ledger: Ledger, key: str) -> list[Json]:
    """The same of a file of JSON lines."""
    try:
        return list(ledger.read_rows(key))
    except LedgerBroken:
        return []


def _assemble(big: BigFile, parts: list[Shard], ledger: Ledger, source: Tree, destination: Tree) -> Outcome:
    receipts: dict[int, Receipt] = {}
    for part in parts:
        receipts |= ledger.read_receipts(part.id)
    ordered = [receipts[index] for index in sorted(receipts)]
    bad = next((receipt for receipt in ordered if receipt.reason is not None), None)
    if bad is not None:
        return _failed(big, bad.reason or Reason.SHARD_FAILED, f"block {bad.index}: {bad.message}")
    if [receipt.index for receipt in ordered] != list(range(big.blocks)):
        return _failed(big, Reason.SHARD_FAILED, f"{len(ordered)} of {big.blocks} blocks were copied")
    checksum = whole_checksum(big, ordered)
    try:
        opened = source.open(big.entry)
        try:
            opened.confirm(checksum)
            destination.open_blocks(big.entry.placed, big.token).complete(ordered, checksum, opened.attributes)
        finally:
            opened.close()
    except ItemError as error:
        return _failed(big, error.reason, error.message)
    except FanoutError as error:
        return _failed(big, Reason.TRANSIENT, f"{type(error).__name__}: {error}")
    entry = big.entry
    return Outcome(entry.path, entry.kind.value, entry.size, Result.COPIED, crc64nvme=to_base64(checksum))


def _failed(big: BigFile, reason: Reason, message: str) -> Outcome:
    return Outcome(big.entry.path, big.entry.kind.value, big.entry.size, Result.FAILED, reason, message)
