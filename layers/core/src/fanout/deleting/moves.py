"""Decides what a move deletes at the source, and reads it: the entries that its comparison found equal.

| condition, in this order                              | at the source                               |
|-------------------------------------------------------|---------------------------------------------|
| the books of the copy or the comparison do not balance | nothing is deleted                          |
| a part of either end could not be listed              | nothing is deleted                          |
| more entries were not copied than a function can hold | nothing is deleted                          |
| more than ``delete_guard.max_count`` are proven equal | the run ends as ``DeleteRefused``           |
| else                                                  | what is proven equal goes, all else stays,  |
|                                                       | and with it what ``not_copied`` holds back  |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby

from msgspec.structs import replace

from fanout.books.run_books import run_books
from fanout.deleting.not_copied import NotCopied
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import entry_from_row, entry_row
from fanout.model.entry import Entry
from fanout.model.errors import DeleteRefused
from fanout.model.outcome import Result
from fanout.model.shard import Deletion, Shard
from fanout.request.plan import Plan
from fanout.shards.partitioned import shards_of
from fanout.shards.record import Proven, add_up, records
from fanout.shards.round_records import rounds_done
from fanout.verifying.compared_big_files import compared_big_files
from fanout.verifying.moved import write_deletion, write_proven
from fanout.work.context import Context
from fanout.work.name_buckets import JsonRow, spread_rows
from fanout.work.parallel import side_by_side

# Chosen: shards whose proofs are read at once.
SHARDS_AT_ONCE = 16
_EQUAL = frozenset({Result.UNCHANGED})


def refused_move(ledger: Ledger, not_copied: NotCopied) -> str:
    """Why nothing may be deleted after the comparison that this is the ledger of; empty if it may.

    ``not_copied`` takes what the copy did not bring to the destination.
    """
    copied = run_books(ledger.whole_run(), None, not_copied.add, "copy")
    compared = run_books(ledger, None, lambda outcome, phase: None, "verify")
    for found, what in ((copied, "copy"), (compared, "comparison")):
        if not found.books.balanced:
            return f"the books of the {what} do not balance"
        if not found.complete:
            return f"a part of the source or the destination could not be listed for the {what}"
    return not_copied.problem


def proven_entries(plan: Plan, context: Context, not_copied: NotCopied) -> list[Deletion]:
    """The shards of what the comparison found equal, each entry once, all names of a file in one shard.

    What stays all the same has shards of its own.

    Raises ``DeleteRefused`` for more entries than the guard allows.
    """
    ledger = context.ledger
    whole = [shard for shard in shards_of(ledger) if shard.blocks is None]
    proven = list(chain.from_iterable(side_by_side(lambda shard: _proven(shard, ledger), whole, SHARDS_AT_ONCE)))
    proven += _proven_big_files(ledger)
    found = [deletion for one in proven for deletion in one.deletions]
    found += _names_together([shard for one in proven for shard in one.names], context)
    entries = sum(one.shard.entries for one in found)
    refuse_over_guard(plan, entries, "nothing was deleted")
    not_copied.find_files(ledger.whole_run())
    return list(not_copied.apart(found, ledger))


def _names_together(listed: list[Shard], context: Context) -> Iterator[Deletion]:
    """Shards of the names of files with several, cut between files: one task knows its own unlinks alone."""
    ledger = context.ledger
    rows = map(entry_row, (entry for shard in listed for entry in ledger.read_shard(shard)))
    inode_of: Callable[[JsonRow], str] = lambda row: entry_from_row(row).inode  # noqa: E731
    buckets = spread_rows(rows, sum(shard.entries for shard in listed), inode_of, "moved", context)
    files = (list(names) for bucket in buckets for _, names in groupby(sorted(bucket, key=inode_of), inode_of))
    held: list[Entry] = []
    for number, names in enumerate(chain(files, [[]])):  # the empty one ends the last shard
        if held and (not names or len(held) + len(names) > tuning.SHARD_ENTRIES):
            yield Deletion(write_deletion(f"names-{number:06d}", held, ledger), directories=False)
            held = []
        held += map(entry_from_row, names)


def refuse_over_guard(plan: Plan, entries: int, done: str) -> None:
    """Raise ``DeleteRefused`` if a move of so many entries is over its guard; ``done`` says what was done."""
    most = plan.request.delete_guard.max_count
    if most is not None and entries > most:
        problem = f"the move would delete {entries:,} entries at the source, over delete_guard.max_count {most:,}"
        raise DeleteRefused(f"{problem}; raise it, or take fewer entries; {done}")


def _proven(shard: Shard, ledger: Ledger) -> Sequence[Proven]:
    """The entries that the attempts at a shard proved; where two overlap, they are written anew, each entry once."""
    found = records(shard.id, ledger)
    whole, counted = add_up(found, ledger, _EQUAL)
    if not counted:
        return [record.proven for record in whole if record.proven is not None]
    proven = [record.proven for record in found if record.proven is not None]
    equal = {outcome.path for _, _, outcome in counted}
    entries = {entry.path: entry for one in proven for some in one.shards for entry in ledger.read_shard(some)}
    return [write_proven(shard.id, "once", (entry for path, entry in entries.items() if path in equal), ledger)]


def _proven_big_files(ledger: Ledger) -> Sequence[Proven]:
    found = compared_big_files(ledger)
    equal = {one.outcome.path: one.copy for one in found if one.outcome.result is Result.UNCHANGED}
    if not equal:
        return []
    listed = (big for done in rounds_done(ledger) for big in done.big_files)
    entries = (ledger.read_big_file(keys.big_file_key(big.id)).entry for big in listed)
    proven = (replace(entry, replaces=equal[entry.path]) for entry in entries if entry.path in equal)
    return [write_proven("big-files", "all", proven, ledger)]
