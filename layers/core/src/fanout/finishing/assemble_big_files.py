"""Putting big files together when all their blocks are there, and discarding the others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from msgspec.structs import replace

from fanout.copying.source_directories import close_by_source
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.rows import big_file_outcome_row, outcome_from_row
from fanout.listing.deciding.unread import unread
from fanout.model.checksum import to_base64
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import FanoutError, Superseded, problem_of
from fanout.model.outcome import Reason, Result
from fanout.model.shard import BigFile, Receipt, Shard
from fanout.ports.tree import OpensEntries, WriteTree
from fanout.request.plan import Plan
from fanout.shards.big_files import parts_of_big_files, whole_checksum
from fanout.shards.entry_report import report_done
from fanout.shards.made_directories import SeenDirectory, write_places
from fanout.shards.record import read_receipts
from fanout.shards.shard_results import big_file_outcomes
from fanout.shards.tasks.outcome_writer import write_made
from fanout.work.context import Context
from fanout.work.other_mount import pinned_source
from fanout.work.parallel import work_on


def assemble_big_files(
    context: Context, plan: Plan, begun: Sequence[str], deadline: Deadline, shard_id: str = ""
) -> tuple[int, bool]:
    """Complete each of these big files whose blocks are all there; write the outcomes of all of them.

    Big files that were begun and are not complete are discarded, also those of an attempt that does not count.
    ``begun`` are the keys of their descriptions, ``shard_id`` is the FinishShard that they belong to.
    Returns how many have been settled now, and whether all are.
    """
    if not begun:
        return 0, True
    ledger = context.ledger
    source, destination = pinned_source(plan, context), context.destination(plan)
    settled = {keys.big_file_key(big_file_id) for big_file_id, _ in big_file_outcomes(ledger, shard_id)}
    open_keys = [key for key in begun if key not in settled]
    if not open_keys:
        return 0, True
    parts, left_out = parts_of_big_files(ledger), plan.request.left_out
    seen: list[SeenDirectory] = []
    above = close_by_source(context.seen_source(plan), destination, plan, seen.append)

    def settle(key: str) -> Json:
        big = ledger.read_big_file(key)
        if big.entry.target and above is not None:
            above.see(big.entry)
        outcome = _assemble(big, parts.get(key, []), context, source, destination)
        if outcome.reason is not None:
            outcome = Outcome.because(big.entry, outcome.reason, outcome.message, left_out=left_out)
        if outcome.result is not Result.COPIED:
            destination.open_blocks(big.entry.placed, big.token).discard()
        return big_file_outcome_row(big.id, outcome, context.clock.now())

    threads = min(tuning.BIG_FILES_COMPLETED_AT_ONCE, len(open_keys))
    rows = [row for _, row in work_on(enumerate(open_keys), settle, threads, deadline, [])]
    name = f"{shard_id}-{context.nonce}" if shard_id else context.nonce
    if destination.file_system is not None:
        write_made(destination.file_system.take_made(), ledger, f"big-files-{name}", 0)
        write_places([*seen, *destination.file_system.take_places()], ledger, f"big-files-{name}", 0)
    report_done(plan, ledger, "copy", f"big-files-{name}", map(outcome_from_row, rows))
    ledger.write_rows(keys.big_file_outcomes_key(name), rows)
    return len(rows), len(rows) == len(open_keys)


def _assemble(
    big: BigFile, parts: list[Shard], context: Context, source: OpensEntries, destination: WriteTree
) -> Outcome:
    receipts: dict[int, Receipt] = {}
    for part in parts:
        receipts |= read_receipts(part.id, context.ledger)
    ordered = [receipts[index] for index in sorted(receipts)]
    bad = next((receipt for receipt in ordered if receipt.reason is not None), None)
    if bad is not None:
        return _failed(big, bad.reason or Reason.SHARD_FAILED, f"block {bad.index}: {bad.message}")
    if [receipt.index for receipt in ordered] != list(range(big.blocks)):
        return _failed(big, Reason.SHARD_FAILED, f"{len(ordered)} of {big.blocks} blocks were copied")
    checksum = whole_checksum(big, ordered)
    try:
        with closing(source.open(big.entry)) as opened:
            opened.confirm(checksum)
            destination.open_blocks(big.entry.placed, big.token).complete(ordered, checksum, opened.attributes)
            said = tuple(unread(opened.attributes).items())
    except Superseded:
        raise
    except FanoutError as error:
        return _failed(big, Reason.TRANSIENT, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - see problem_of
        problem = problem_of(error)
        return _failed(big, problem.reason, problem.message)
    return replace(Outcome.done(big.entry, Result.COPIED, to_base64(checksum)), unread=said)


def _failed(big: BigFile, reason: Reason, message: str) -> Outcome:
    return Outcome.because(big.entry, reason, message)
