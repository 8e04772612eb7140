"""DigestDestination: checksums of what the destination holds of a shard, for PackShard, which does not see that.

Only with ``compare: checksum`` between two mounts. PackShard stages an entry only if its bytes are others.
"""

from __future__ import annotations

from collections.abc import Callable

from fanout.ledger import keys
from fanout.model.checksum import to_base64
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.shard import Shard
from fanout.ports.tree import ReadTree
from fanout.shards.tasks.shard_task import ShardTask
from fanout.verifying.source_checksums import SourceChecksum, read_checksums, write_checksums
from fanout.verifying.verifier import Verifier
from fanout.work.context import Context

# Of an entry that is to be staged, whatever the source holds: no checksum, and no reason to name.
_STAGED = SourceChecksum()


def digest_destination(shard: Shard, context: Context) -> Json:
    """Read the entries that no attempt has read; returns ``cursor`` (entries looked at so far) and ``done``.

    An entry that is missing, of another kind or size, or that cannot be read, has an empty checksum.
    """
    if shard.blocks is not None:  # of a file too large for one function: copied in blocks
        return {"cursor": 0, "done": True}
    task = ShardTask("digest", "read", shard, context)
    ledger, name = task.ledger, keys.destination_id(shard.id)
    left = task.left(enumerate(ledger.read_shard(shard)), read_checksums(name, ledger))
    destination = context.destination(task.plan)
    verifier = Verifier(destination, task.deadline, task.limiter)

    def read(entry: Entry) -> tuple[int, SourceChecksum]:
        return entry.size, SourceChecksum(_checksum_there(entry, destination, verifier))

    cut_off: list[tuple[int, Entry]] = []
    found = {index: one for index, (_, one) in task.done_along(left, read, lambda one: one[0], cut_off)}
    found |= {index: _STAGED for index, _ in task.too_late(len(left), found, cut_off)}
    if found:
        write_checksums(name, context.nonce, found, ledger)
    return task.progress(len(found)).answer


def _checksum_there(entry: Entry, destination: ReadTree, verifier: Verifier) -> str:
    if entry.kind not in (Kind.FILE, Kind.SYMLINK) or entry.is_linkable:
        return ""
    try:
        found = destination.find_stored(entry.placed.path)
        if found is None or (found.entry.kind, found.entry.size) != (entry.kind, entry.size):
            return ""
        return to_base64(verifier.read_checksum(destination, found.entry))
    except (ItemError, AccessDenied):
        return ""  # UnpackShard says what is wrong, if anything is


def same_as_noted(
    shard: Shard, source: ReadTree, verifier: Verifier, context: Context
) -> Callable[[Entry], str | None]:
    """The rule for ``Copier``: the checksum of an entry whose bytes the destination held when it was looked at."""
    ledger = context.ledger
    noted = read_checksums(keys.destination_id(shard.id), ledger)
    there = {
        entry.path: noted[index].checksum for index, entry in enumerate(ledger.read_shard(shard)) if index in noted
    }

    def same(entry: Entry) -> str | None:
        checksum = there.get(entry.path, "")
        if not checksum:
            return None
        try:
            return checksum if to_base64(verifier.read_checksum(source, entry)) == checksum else None
        except (ItemError, AccessDenied):
            return None  # the copy says what is wrong, if anything is

    return same
