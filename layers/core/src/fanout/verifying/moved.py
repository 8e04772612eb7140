"""Writes the entries that a VerifyShard inside a run found equal: a move deletes them, and a retry takes them over.

Directories get separate shards, because one is deleted only when it is empty, and names of files with several, because
one task deletes all names of a file. ``replaces`` of a proven entry pins the
copy that it was compared with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from zlib import crc32

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import entry_row
from fanout.model.entry import Attributes, Entry, Found, Kind, permissions_of, whole_seconds
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason
from fanout.model.shard import Deletion, Shard
from fanout.request.parts.given_attributes import GivenAttributes
from fanout.request.plan import Plan

# Begins the name of a shard of entries that a move leaves, though they are proven.
STAYS = "stays-"


class Proven(Struct, frozen=True):
    """The shards of what one attempt at a shard, or at the big files, found equal, and its first and last path.

    ``names`` are shards of names of files with several; ``taken_over`` counts what an earlier run had proven.
    """

    deletions: list[Deletion]
    first: str = ""
    last: str = ""
    taken_over: int = 0
    names: list[Shard] = []

    @property
    def shards(self) -> list[Shard]:
        """The shards of all that was proven."""
        return [*(one.shard for one in self.deletions), *self.names]


def pin_of_copy(found: Found) -> str:
    """Tells a copy from one that was written later: on a mount its ctime, in a bucket its ETag, time and metadata.

    An object that is written again with other metadata keeps its ETag, and its time to the second. Empty for a
    directory of a mount, whose ctime moves with what comes into it.
    """
    entry, given = found.entry, found.attributes
    if entry.etag:
        known = (
            [] if given is None else [given.mode, given.uid, given.gid, given.mtime_ns, sorted(given.headers.items())]
        )
        return f"{entry.etag} {whole_seconds(entry.changed_ns)} {crc32(repr(known).encode()):08x}"
    return "" if entry.kind is Kind.DIRECTORY else str(entry.changed_ns)


def is_copy_of(pin: str, found: Found) -> bool:
    """Whether the destination still holds the copy that was compared; a listing pins an object by its ETag."""
    return pin in (pin_of_copy(found), found.entry.etag)


def pin_of_directory(entry: Entry, seen: Attributes | None, plan: Plan) -> str:
    """Tells a directory of a mount from one that somebody opened up, closed or gave away since it was compared.

    The ETag of any other entry. Empty where the run compares no attributes, or gives others than the source has.
    """
    if entry.kind is not Kind.DIRECTORY or entry.etag or seen is None or plan.request.attributes != GivenAttributes():
        return entry.etag
    return permissions_of(seen.mode, seen.uid, seen.gid) if seen.mode is not None else ""


def write_proven(shard_id: str, name: str, equal: Iterable[Entry], ledger: Ledger, taken_over: int = 0) -> Proven:
    """Write the entries that an attempt found equal; the names of its files hold the shard's id and ``name``."""
    held: dict[str, list[Entry]] = {"files": [], "directories": [], "names": []}
    for entry in equal:
        held["directories" if entry.kind is Kind.DIRECTORY else "names" if entry.inode else "files"].append(entry)
    written = {
        kind: write_deletion(f"{shard_id}-{name}-{kind}", entries, ledger) for kind, entries in held.items() if entries
    }
    deletions = [Deletion(shard, kind == "directories") for kind, shard in written.items() if kind != "names"]
    names = [shard for kind, shard in written.items() if kind == "names"]
    ends = _ends(entry for entries in held.values() for entry in entries)
    return _written(shard_id, name, Proven(deletions, *ends, taken_over, names), ledger)


def write_proofs(shard_id: str, name: str, equal: Iterable[Entry], ledger: Ledger, taken_over: int) -> Proven:
    """The same for the run that resumes one which deletes nothing: one shard, without directories."""
    files = [entry for entry in equal if entry.kind is not Kind.DIRECTORY]
    deletions = [Deletion(write_deletion(f"{shard_id}-{name}", files, ledger), directories=False)] if files else []
    return _written(shard_id, name, Proven(deletions, *_ends(files), taken_over), ledger)


def _ends(entries: Iterable[Entry]) -> tuple[str, str]:
    """The first and the last path."""
    paths = [entry.path for entry in entries]
    return (min(paths, key=os.fsencode), max(paths, key=os.fsencode)) if paths else ("", "")


def _written(shard_id: str, name: str, proven: Proven, ledger: Ledger) -> Proven:
    ledger.write(keys.proven_key(shard_id, name), proven)
    return proven


def stays(shard: Shard) -> bool:
    """Whether a shard holds what a move leaves at the source."""
    return shard.id.startswith(f"move-{STAYS}")


def write_deletion(name: str, entries: Sequence[Entry], ledger: Ledger) -> Shard:
    """Write a shard of entries that a move is to delete."""
    own_id = f"move-{name}"
    key = keys.deletion_key(own_id)
    ledger.write_rows(key, map(entry_row, entries))
    return Shard(own_id, key, len(entries), sum(entry.size for entry in entries), 0.0)


def in_move(outcome: Outcome, entry: Entry, plan: Plan) -> Outcome:
    """The outcome in the comparison of a move: what came after the run began is skipped, and not missing."""
    if outcome.reason is not Reason.MISSING:
        return outcome
    reason = plan.missing(entry.changed_ns)
    return outcome if reason is Reason.MISSING else outcome.instead(reason, outcome.message)
