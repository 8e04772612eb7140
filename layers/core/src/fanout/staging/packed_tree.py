"""Staged entries of a shard, to be copied from."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import NamedTuple

from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError, LedgerBroken, NotFound
from fanout.model.outcome import Reason
from fanout.ports.tree import WholeSource
from fanout.shards.made_directories import TAKEN, SeenDirectory
from fanout.staging.pack_writer import INDEX, PACKS
from fanout.staging.packs import Packed, packed_from_row


class StagedEntries(NamedTuple):
    """The staged entries of a shard, and the directories above them, by their paths; of two attempts' the first."""

    entries: dict[str, Packed]
    above: dict[str, Packed]


def staged_entries(staged: Ledger, shard_id: str) -> StagedEntries:
    """Everything that is staged of a shard."""
    found = StagedEntries({}, {})
    for key in staged.keys(f"{shard_id}/{INDEX}/"):
        for row in staged.read_rows(key):
            packed = packed_from_row(row)
            (found.above if packed.is_above else found.entries).setdefault(packed.path, packed)
    return found


class PackedDirectories:
    """``ports.file_system.SourceDirectories`` by what was staged; ``note`` takes a directory that was taken."""

    def __init__(self, above: dict[str, Packed], note: Callable[[SeenDirectory], None], *, are_entries: bool) -> None:
        self._above, self._note, self.are_entries = above, note, are_entries

    def attributes(self, path: str) -> Attributes | None:
        packed = self._above.get(path)
        return None if packed is None else packed.attributes

    def taken(self, path: str, attributes: Attributes) -> None:
        self._note((Entry(path, Kind.DIRECTORY, replaces=TAKEN), attributes))


class PackedTree:
    """A tree to copy from whose entries are staged."""

    overlaps = False

    def __init__(self, staged: Ledger, packed: Iterable[Packed]) -> None:
        self._packed = {one.path: one for one in packed}
        self._objects = StagedObjects(staged)

    def open(self, entry: Entry) -> PackedSource:
        packed = self._packed.get(entry.path)
        if packed is None:
            raise LedgerBroken(f"{entry.path} is not staged")
        return PackedSource(packed, entry, self._objects)


class PackedSource(WholeSource):
    """The ``ports.tree.Source`` of a staged entry, pinned when it was staged."""

    def __init__(self, packed: Packed, entry: Entry, objects: StagedObjects) -> None:
        self._packed, self._entry, self._objects = packed, entry, objects
        self._ends = [chunk.offset + chunk.length for chunk in packed.chunks]

    @property
    def attributes(self) -> Attributes:
        return self._packed.attributes

    def read(self, offset: int, length: int) -> bytes:
        """See ``ports.tree.Source``; what no chunk holds is zeros."""
        end = min(offset + length, self._entry.size)
        data = bytearray(max(0, end - offset))
        for chunk in self._packed.chunks[bisect_right(self._ends, offset) :]:
            if chunk.offset >= end:
                break
            first, last = max(offset, chunk.offset), min(end, chunk.offset + chunk.length)
            start = chunk.start + first - chunk.offset
            part = self._part(chunk.key, start, last - first)
            if len(part) == len(data):
                return part
            data[first - offset : last - offset] = part
        return bytes(data)

    def _part(self, key: str, start: int, length: int) -> bytes:
        try:
            part = self._objects.get(key)[start : start + length]
        except NotFound as error:
            raise ItemError(Reason.STAGED_BROKEN, f"{key} is gone") from error
        if len(part) != length:
            raise ItemError(Reason.STAGED_BROKEN, f"{key} holds {len(part)} of {length} bytes from {start} on")
        return part

    def zeros_at(self, offset: int) -> int:
        following = bisect_right(self._ends, offset)
        if following == len(self._ends):
            return max(0, self._entry.size - offset)
        return max(0, self._packed.chunks[following].offset - offset)

    def confirm(self, crc64nvme: int | None) -> None:
        """See ``ports.tree.Source``: what was read back is what was staged. Raises ``ItemError`` if not."""
        if crc64nvme not in (None, self._packed.crc64nvme):
            raise ItemError(Reason.STAGED_BROKEN, "the staged bytes are not those that were read at the source")


class StagedObjects:
    """Reads staged objects; a pack is read once and held as long as its entries are written, a block is not held."""

    def __init__(self, staged: Ledger) -> None:
        self._staged = staged
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Future[bytes]] = OrderedDict()

    def get(self, key: str) -> bytes:
        """The bytes of an object. Raises ``NotFound`` if another attempt has finished the shard and removed it."""
        if f"/{PACKS}/" not in key:
            return self._staged.read_bytes(key)
        with self._lock:
            held = self._held.get(key)
            if held is None:
                mine = self._held[key] = Future()
                if len(self._held) > tuning.PACKS_HELD:
                    self._held.popitem(last=False)
        return self._read(key, mine) if held is None else held.result()

    def _read(self, key: str, future: Future[bytes]) -> bytes:
        try:
            data = self._staged.read_bytes(key)
        except BaseException as error:
            with self._lock:
                self._held.pop(key, None)
            future.set_exception(error)
            raise
        future.set_result(data)
        return data
