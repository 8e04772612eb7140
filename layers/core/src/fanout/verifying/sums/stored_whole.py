"""The checksum of the whole that a store keeps of a big file, taken where the file is only compared: no block is read.

Only CRC64NVME counts, which the checksums of the blocks at the other end make up. Whoever compares a part asks, and
notes the answer for the whole file; ``compared_big_files`` takes it where the end's blocks were not all read.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.model.books import Count
from fanout.model.checksum import to_base64
from fanout.model.entry import Attributes
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.shard import BigFile
from fanout.shards.tasks.attempts import TaskProgress
from fanout.shards.tasks.shard_task import ShardTask
from fanout.verifying.moved import pin_of_copy


class End(StrEnum):
    """An end of a comparison."""

    SOURCE = "source"
    DESTINATION = "destination"

    def receipts_id(self, shard_id: str) -> str:
        """The name under which the receipts of blocks that were read at this end lie."""
        return keys.source_id(shard_id) if self is End.SOURCE else keys.verified_id(shard_id)


class StoredWhole(Struct, frozen=True):
    """One answer of a store: the CRC64NVME as S3 writes it, the attributes, and the pin of the object."""

    crc64nvme: str
    attributes: Attributes
    pin: str


stored_key = ObjectKind("seen/{big_file_id}-{end}-told.json", StoredWhole, by=("VerifyShard",))


def note_stored(end: End, big: BigFile, task: ShardTask) -> TaskProgress | None:
    """Note the stored checksum; ``None`` where the blocks have to be read.

    That is where it has none, for a certificate, where the request leaves out what only the reading shows, and
    for an object that is not the one to compare or cannot be asked about: the reading says what is wrong with it.
    """
    plan, entry = task.plan, big.entry if end is End.SOURCE else big.entry.placed
    place = plan.request.source if end is End.SOURCE else plan.request.destination
    is_hidden = end is End.SOURCE and bool(plan.request.left_out_unseen)
    if plan.request.certificate or is_hidden or not place.is_keyed:
        return None
    tree = task.context.source(plan) if end is End.SOURCE else task.context.destination(plan)
    try:
        found = tree.find_stored(entry.path)
    except (ItemError, AccessDenied):
        return None
    if found is None or found.crc64nvme is None or found.attributes is None:
        return None
    is_source = end is End.SOURCE
    if found.entry.etag != big.entry.etag if is_source else found.entry.size != big.entry.size:
        return None
    stored = StoredWhole(to_base64(found.crc64nvme), found.attributes, pin_of_copy(found))
    task.ledger.write(stored_key(big.id, end.value), stored)
    assert task.shard.blocks is not None
    size = sum(big.block(index)[1] for index in range(*task.shard.blocks))
    return TaskProgress(task.shard.items, True, Count(0, size))
