"""Compares both ends of big files by the checksums of their blocks."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fanout.certificate.content_digest import content_digest
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.checksum import CRC64NVME, to_base64
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.model.shard import BigFile, Receipt, Shard
from fanout.request.plan import Plan
from fanout.shards.big_files import parts_of_big_files, whole_checksum
from fanout.shards.found_sums import entry_digest, with_digests
from fanout.shards.record import read_receipts
from fanout.shards.round_records import rounds_done
from fanout.shards.shard_results import ShardResult, result_of
from fanout.verifying.differences import Rules
from fanout.verifying.sums.seen import Seen
from fanout.verifying.sums.stored_whole import End, stored_key
from fanout.verifying.tags import tags_key
from fanout.verifying.verifier import (
    ComparedEntry,
    attributes_known,
    differences_of,
    not_read,
    proof_of,
    said_of,
    worst,
)
from fanout.verifying.verify_rules import compares_tags, rules_of


def compared_big_files(ledger: Ledger) -> Iterator[ComparedEntry]:
    """The outcome of every big file that was only compared, with its digests at both ends."""
    parts = parts_of_big_files(ledger)
    plan = ledger.read_plan()
    rules = rules_of(plan, ledger)
    for done in rounds_done(ledger):
        for listed in done.big_files:
            key = keys.big_file_key(listed.id)
            big, shards = ledger.read_big_file(key), parts.get(key, [])
            yield _compared(big, shards, ledger, rules, plan)


def compared_result(ledger: Ledger) -> ShardResult:
    """The same as totals and failures."""
    return result_of([verified.outcome for verified in compared_big_files(ledger)])


def _compared(big: BigFile, parts: list[Shard], ledger: Ledger, rules: Rules | None, plan: Plan) -> ComparedEntry:
    here, there = (_end(end, big, parts, ledger) for end in End)
    entry = big.entry
    bad = here.bad or there.bad
    if bad is not None and bad is here.bad and bad.reason in plan.request.left_out_unseen:
        return not_read(entry, bad.reason, f"block {bad.index}: {bad.message}")
    problem, known = None, True
    seen = Seen(), Seen()
    if bad is not None:
        problem = (bad.reason or Reason.NOT_VERIFIED, f"block {bad.index}: {bad.message}")
    elif here.seen is None or there.seen is None:
        least = min(len(end.receipts) for end in (here, there) if end.seen is None)
        problem = (Reason.NOT_VERIFIED, f"{least} of {big.blocks} blocks were compared")
    else:
        seen = here.seen, there.seen
        problem = worst(differences_of(entry, *seen, rules))
        pins_copies = plan.proves_move or bool(plan.resumes)  # blocks that earlier runs read are among them
        if problem is None and pins_copies and len(there.pins) > 1:
            problem = (Reason.DESTINATION_CHANGED, "it was written while its blocks were compared")
        known = attributes_known(entry, seen[0], rules)
        if problem is not None and problem[0] is Reason.CHECKSUM and here.receipts and there.receipts:
            pairs = zip(here.receipts, there.receipts, strict=True)
            block = next(one.index for one, other in pairs if _sums(one) != _sums(other))
            problem = (problem[0], f"block {block} of {big.block_bytes} bytes is the first that differs; {problem[1]}")
    problem = problem or _problem_of_tags(big, ledger, plan)
    proof = None
    if problem is None:
        outcome = Outcome.done(entry, Result.UNCHANGED, seen[0].crc64nvme)
        proof = proof_of(entry, seen[0])
    else:
        outcome = Outcome.because(entry, *problem)
    outcome = replace(outcome, unread=_said(entry, *seen, outcome, rules))
    outcome = with_digests(outcome, *(entry_digest(entry.path, entry.kind, entry.size, one.content) for one in seen))
    return ComparedEntry(outcome, known, bool(entry.inode), proof, next(iter(there.pins), ""))


def _problem_of_tags(big: BigFile, ledger: Ledger, plan: Plan) -> tuple[Reason, str] | None:
    if not compares_tags(plan):
        return None
    seen = ledger.find(tags_key(big.id))
    if seen is None:
        return Reason.NOT_VERIFIED, "its tags were not looked at"
    return None if seen.reason is None else (seen.reason, seen.message)


def _said(entry: Entry, here: Seen, there: Seen, outcome: Outcome, rules: Rules | None) -> tuple[tuple[str, str], ...]:
    if rules is None or here.attributes is None:
        return ()
    return tuple(said_of(entry, here.attributes, there.attributes, outcome, rules))


class _BigFileEnd(Struct, frozen=True):
    """An end of a big file: its blocks, if they were read, its pins, and what they or the store tell of the whole.

    ``seen`` is ``None`` where not all blocks were read and the store tells nothing.
    """

    receipts: list[Receipt]
    pins: list[str]
    seen: Seen | None

    @property
    def bad(self) -> Receipt | None:
        """The first block that could not be read."""
        return next((receipt for receipt in self.receipts if receipt.reason is not None), None)


def _end(end: End, big: BigFile, parts: list[Shard], ledger: Ledger) -> _BigFileEnd:
    receipts = _receipts(ledger, [end.receipts_id(part.id) for part in parts])
    pins = list(dict.fromkeys(receipt.etag for receipt in receipts))
    if len(receipts) < big.blocks:
        stored = ledger.find(stored_key(big.id, end.value))
        if stored is None:
            return _BigFileEnd(receipts, pins, None)
        return _BigFileEnd([], [stored.pin], Seen({CRC64NVME: stored.crc64nvme}, stored.attributes))
    is_read = all(receipt.reason is None for receipt in receipts)
    return _BigFileEnd(receipts, pins, _seen(big, end, receipts, ledger) if is_read else None)


def _sums(receipt: Receipt) -> tuple[int | None, str]:
    """All that is known of a block's bytes."""
    return receipt.crc64nvme, receipt.sha256


def _seen(big: BigFile, end: End, receipts: list[Receipt], ledger: Ledger) -> Seen:
    attributes = ledger.read(keys.seen_key(big.id, end.value))
    hashed = all(receipt.sha256 for receipt in receipts)
    sha256 = content_digest([bytes.fromhex(receipt.sha256) for receipt in receipts]) if hashed else ""
    return Seen({CRC64NVME: to_base64(whole_checksum(big, receipts))}, attributes, sha256)


def _receipts(ledger: Ledger, ids: list[str]) -> list[Receipt]:
    found: dict[int, Receipt] = {}
    for one in ids:
        found |= read_receipts(one, ledger)
    return [found[index] for index in sorted(found)]
