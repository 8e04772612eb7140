"""Writes the entries that a VerifyShard of a move found equal, as shards to delete at the source.

Directories get separate shards, because one is deleted only when it is empty.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import entry_row
from fanout.model.entry import Entry, Kind
from fanout.model.outcome import Outcome, Reason
from fanout.model.shard import Deletion, Shard
from fanout.request.plan import Plan


class Proven(Struct, frozen=True):
    """The shards of what one attempt at a shard, or at the big files, found equal."""

    deletions: list[Deletion]


def write_proven(shard_id: str, name: str, equal: Iterable[Entry], ledger: Ledger) -> None:
    """Write the entries that an attempt found equal; the names of its files hold the shard's id and ``name``."""
    files: list[Entry] = []
    directories: list[Entry] = []
    for entry in equal:
        (directories if entry.kind is Kind.DIRECTORY else files).append(entry)
    deletions = []
    for held, kind in ((files, "files"), (directories, "directories")):
        if held:
            own_id = f"move-{shard_id}-{name}-{kind}"
            key = keys.deletion_key(own_id)
            ledger.write_rows(key, map(entry_row, held))
            shard = Shard(own_id, key, len(held), sum(entry.size for entry in held), 0.0)
            deletions.append(Deletion(shard, held is directories))
    ledger.write(keys.proven_key(shard_id, name), Proven(deletions))


def in_move(outcome: Outcome, entry: Entry, plan: Plan) -> Outcome:
    """The outcome in the comparison of a move: what came after the run began is skipped, and not missing."""
    if outcome.reason is not Reason.MISSING:
        return outcome
    reason = plan.missing(entry.changed_ns)
    return outcome if reason is Reason.MISSING else outcome.instead(reason, outcome.message)
