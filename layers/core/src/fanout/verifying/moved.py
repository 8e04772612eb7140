"""Writes the entries that a VerifyShard inside a run found equal: a move deletes them, and a retry takes them over.

Directories get separate shards, because one is deleted only when it is empty, and names of files with several, because
one task deletes all names of a file. ``replaces`` of a proven entry pins the
copy that it was compared with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from zlib import crc32

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import entry_row
from fanout.model.entry import Attributes, Entry, Found, Kind, permissions_of, whole_seconds
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason
from fanout.model.shard import Deletion, Shard
from fanout.request.parts.given_attributes import GivenAttributes
from fanout.request.plan import Plan
from fanout.shards.record import Proven

# Begins the name of a shard of entries that a move leaves, though they are proven.
STAYS = "stays-"


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


def write_proven(shard_id: str, name: str, equal: Iterable[Entry], ledger: Ledger) -> Proven:
    """Write the entries that were found equal, in files whose names hold the shard's id and ``name``.

    They count where a record names them, or whoever wrote them goes on with the answer.
    """
    held: dict[str, list[Entry]] = {"files": [], "directories": [], "names": []}
    for entry in equal:
        held["directories" if entry.kind is Kind.DIRECTORY else "names" if entry.inode else "files"].append(entry)
    written = {
        kind: write_deletion(f"{shard_id}-{name}-{kind}", entries, ledger) for kind, entries in held.items() if entries
    }
    deletions = [Deletion(shard, kind == "directories") for kind, shard in written.items() if kind != "names"]
    names = [shard for kind, shard in written.items() if kind == "names"]
    return Proven(deletions, *_ends(entry for entries in held.values() for entry in entries), names)


def write_proofs(shard_id: str, name: str, equal: Iterable[Entry], ledger: Ledger) -> Proven:
    """The same for the run that resumes one which deletes nothing: one shard, without directories."""
    files = [entry for entry in equal if entry.kind is not Kind.DIRECTORY]
    deletions = [Deletion(write_deletion(f"{shard_id}-{name}", files, ledger), directories=False)] if files else []
    return Proven(deletions, *_ends(files))


def _ends(entries: Iterable[Entry]) -> tuple[str, str]:
    """The first and the last path."""
    paths = [entry.path for entry in entries]
    return (min(paths, key=os.fsencode), max(paths, key=os.fsencode)) if paths else ("", "")


def stays(shard: Shard) -> bool:
    """Whether a shard holds what a move leaves at the source."""
    return shard.id.startswith(f"move-{STAYS}")


def write_deletion(name: str, entries: Sequence[Entry], ledger: Ledger) -> Shard:
    """Write a shard of entries that a move is to delete."""
    own_id = f"move-{name}"
    key = keys.move_deletion_key(name)
    ledger.write_rows(key, map(entry_row, entries))
    return Shard(own_id, key, len(entries), sum(entry.size for entry in entries), 0.0)


def in_move(outcome: Outcome, entry: Entry, plan: Plan) -> Outcome:
    """The outcome in the comparison of a move: what came after the run began is skipped, and not missing."""
    if outcome.reason is not Reason.MISSING:
        return outcome
    reason = plan.missing(entry.changed_ns)
    return outcome if reason is Reason.MISSING else outcome.instead(reason, outcome.message)
