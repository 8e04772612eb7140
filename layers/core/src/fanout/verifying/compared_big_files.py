"""Compares both ends of big files by the checksums of their blocks."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.certificate.content_digest import content_digest
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import tally
from fanout.model.checksum import to_base64
from fanout.model.entry import Attributes
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE, Reason, Result
from fanout.model.shard import BigFile, Receipt, Shard
from fanout.shards.big_files import parts_of_big_files, whole_checksum
from fanout.shards.rounds import rounds_done
from fanout.shards.shard_results import ShardResult
from fanout.verifying.differences import Rules
from fanout.verifying.digests import entry_digest
from fanout.verifying.verifier import Seen, Verified, differences_of, not_read, proof_of, told_whole, worst
from fanout.verifying.verify_rules import rules_of


def compared_big_files(ledger: Ledger) -> Iterator[Verified]:
    """The outcome of every big file that was only compared, with its digests at both ends."""
    parts = parts_of_big_files(ledger)
    plan = ledger.read_plan()
    rules, skips_archived, pins_copies = rules_of(plan, ledger), plan.request.skips_archived, plan.proves_move
    for done in rounds_done(ledger):
        for listed in done.big_files:
            key = keys.big_file_key(listed.id)
            big, shards = ledger.read_big_file(key), parts.get(key, [])
            yield _compared(big, shards, ledger, rules, skips_archived, pins_copies=pins_copies)


def compared_result(ledger: Ledger) -> ShardResult:
    """The same as totals and failures."""
    outcomes = [verified.outcome for verified in compared_big_files(ledger)]
    return ShardResult(tally(outcomes), [outcome for outcome in outcomes if outcome.result in TROUBLE])


def _compared(
    big: BigFile,
    parts: list[Shard],
    ledger: Ledger,
    rules: Rules | None,
    skips_archived: bool,
    *,
    pins_copies: bool,
) -> Verified:
    here, there = (_receipts(ledger, [name(part.id) for part in parts]) for name in (keys.source_id, keys.verified_id))
    entry = big.entry
    bad = next((receipt for receipt in here + there if receipt.reason is not None), None)
    if skips_archived and bad is not None and bad in here and bad.reason is Reason.SOURCE_ARCHIVED:
        return not_read(entry, f"block {bad.index}: {bad.message}")
    problem, told = None, True
    seen = Seen(), Seen()
    if bad is not None:
        problem = (bad.reason or Reason.NOT_VERIFIED, f"block {bad.index}: {bad.message}")
    elif min(len(here), len(there)) < big.blocks:
        problem = (Reason.NOT_VERIFIED, f"{min(len(here), len(there))} of {big.blocks} blocks were compared")
    else:
        seen = _seen(big, "source", here, ledger), _seen(big, "destination", there, ledger)
        problem = worst(differences_of(entry, *seen, rules))
        if problem is None and pins_copies and len({receipt.etag for receipt in there}) > 1:
            problem = (Reason.DESTINATION_CHANGED, "it was written while its blocks were compared")
        told = told_whole(entry, seen[0], rules)
        if problem is not None and problem[0] is Reason.CHECKSUM:
            block = next(one.index for one, other in zip(here, there, strict=True) if _sums(one) != _sums(other))
            problem = (problem[0], f"block {block} of {big.block_bytes} bytes is the first that differs; {problem[1]}")
    proof = None
    if problem is None:
        outcome = Outcome.done(entry, Result.UNCHANGED, seen[0].checksum)
        proof = proof_of(entry, seen[0])
    else:
        outcome = Outcome.because(entry, *problem)
    digests = [entry_digest(entry, one.checksum) for one in seen]
    return Verified(outcome, digests[0], digests[1], told, bool(entry.inode), proof, there[0].etag if there else "")


def _sums(receipt: Receipt) -> tuple[int | None, str]:
    """All that is known of a block's bytes."""
    return receipt.crc64nvme, receipt.sha256


def _seen(big: BigFile, end: str, receipts: list[Receipt], ledger: Ledger) -> Seen:
    attributes = ledger.read(keys.seen_key(big.id, end), Attributes)
    hashed = all(receipt.sha256 for receipt in receipts)
    sha256 = content_digest([bytes.fromhex(receipt.sha256) for receipt in receipts]) if hashed else ""
    return Seen(to_base64(whole_checksum(big, receipts)), attributes, sha256)


def _receipts(ledger: Ledger, ids: list[str]) -> list[Receipt]:
    found: dict[int, Receipt] = {}
    for one in ids:
        found |= ledger.read_receipts(one)
    return [found[index] for index in sorted(found)]
