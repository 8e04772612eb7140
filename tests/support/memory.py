"""A tree in memory: a real adapter for rehearsals and tests."""

from __future__ import annotations

import itertools
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.columns import Listed, in_columns
from fanout.model.deadline import Deadline
from fanout.model.entry import NOTHING_THERE, Attributes, Entry, Found, Kind, Made
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Prunes, Segment, no_pruning, within
from fanout.model.shard import Receipt
from fanout.ports.file_system import fence_any
from fanout.ports.tree import Tree, WholeSource
from fanout.ports.turns import Fence
from fanout.ports.versions import Versions
from fanout.request.filtering.pruning import Pruning
from fanout.request.options import Overwrite, latest_of_second, replaces


class Stored(Struct, frozen=True):
    """An entry with its bytes (a symlink's are its target) and attributes."""

    entry: Entry
    data: bytes = b""
    attributes: Attributes = field(default_factory=Attributes)


class MemorySource(WholeSource):
    """See ``ports.tree.Source``; what was opened cannot change."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.attributes = stored.attributes

    def read(self, offset: int, length: int) -> bytes:
        """See ``ports.tree.Source``."""
        return self._stored.data[offset : offset + length]


class MemoryTarget:
    """See ``ports.tree.Target``."""

    keeps_holes = False
    takes_pieces = False

    def __init__(self, tree: MemoryTree, entry: Entry, attributes: Attributes) -> None:
        self._tree, self._entry, self._attributes = tree, entry, attributes
        self._data = bytearray()

    def write(self, offset: int, data: bytes) -> None:
        """See ``ports.tree.Target``."""
        self._data[offset:offset] = data

    def send(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``; nothing is waited for."""

    def commit(self, checksum: int) -> None:
        """See ``ports.tree.Target``."""
        if crc64nvme(bytes(self._data)) != checksum:
            raise ItemError(Reason.CHECKSUM, "what was written is not what was read")
        self._tree.replace(self._entry, bytes(self._data), self._attributes)

    def abort(self) -> None:
        """See ``ports.tree.Target``; nothing is visible before the commit."""


class MemoryBlocks:
    """See ``ports.tree.BlockTarget``."""

    keeps_holes = False
    takes_pieces = False

    def __init__(self, tree: MemoryTree, entry: Entry, blocks: dict[int, bytes]) -> None:
        self._tree, self._entry, self._blocks = tree, entry, blocks

    def sync(self) -> None:
        """See ``ports.tree.BlockTarget``; memory keeps nothing back."""

    def write(self, index: int, offset: int, data: bytes, checksum: int) -> str:
        """See ``ports.tree.BlockTarget``."""
        if crc64nvme(data) != checksum:
            raise ItemError(Reason.CHECKSUM, "what was written is not what was read")
        self._blocks[index] = data
        return f'"{index}"'

    def complete(self, receipts: Sequence[Receipt], checksum: int, attributes: Attributes) -> None:
        """See ``ports.tree.BlockTarget``."""
        if not self._blocks and self._tree.contents()[self._entry.path].entry.size == self._entry.size:
            return
        data = b"".join(self._blocks[receipt.index] for receipt in receipts)
        if crc64nvme(data) != checksum or len(data) != self._entry.size:
            raise ItemError(Reason.CHECKSUM, "what was written is not what was read")
        self._tree.replace(self._entry, data, attributes)
        self._blocks.clear()

    def discard(self) -> None:
        """See ``ports.tree.BlockTarget``."""
        self._blocks.clear()


def _whole(stored: Stored) -> Attributes:
    """The attributes of an entry on a mount, which has all."""
    given = stored.attributes
    mode, uid, gid = given.mode or stat.S_IFREG | 0o644, given.uid or 0, given.gid or 0
    return replace(given, mode=mode, uid=uid, gid=gid, mtime_ns=stored.entry.mtime_ns, unreadable={})


class MemoryTree:
    """A ``Tree`` of one process. Its time is ``changes``, of ``tick_ns`` each; trees that share it share a clock.

    ``ahead_ns`` is how far its clock is ahead of those. Without ``keeps_checksums`` it is a store that knows none.
    ``is_mount``: every entry has all attributes.
    """

    def __init__(
        self,
        changes: Iterator[int] | None = None,
        *,
        tick_ns: int = 2_000_000_000,
        ahead_ns: int = 0,
        keeps_checksums: bool = True,
        overwrite: Overwrite = Overwrite.ALWAYS,
    ) -> None:
        self._tick_ns, self._ahead_ns, self._keeps_checksums = tick_ns, ahead_ns, keeps_checksums
        self._overwrite = overwrite
        self._entries: dict[str, Stored] = {}
        self._changes = changes or itertools.count(1)
        self.is_mount = False
        self._lock = threading.Lock()
        self._begun: dict[str, dict[int, bytes]] = {}

    def put(self, path: str, kind: Kind, data: bytes = b"", attributes: Attributes | None = None) -> Entry:
        """Store an entry, replacing what was at the path."""
        attributes = attributes or Attributes()
        with self._lock:
            change = next(self._changes)
            changed_ns = change * self._tick_ns + self._ahead_ns
            mtime_ns = changed_ns if attributes.mtime_ns is None else attributes.mtime_ns
            size = len(data)
            entry = Entry(path, kind, size, mtime_ns, changed_ns, f'"{change}"')
            self._entries[path] = Stored(entry, data, attributes)
        return entry

    def replace(self, entry: Entry, data: bytes, attributes: Attributes) -> None:
        """Store an entry where what it replaces, if it says so, still is what stands there.

        What is stored already is not stored again. Raises ``ItemError`` where something else stands there.
        """
        there = self._entries.get(entry.path)
        wanted = NOTHING_THERE if self._overwrite is Overwrite.NEVER else entry.replaces
        if wanted not in ("", NOTHING_THERE if there is None else there.entry.etag):
            if there is None or (there.data, there.attributes) != (data, attributes):
                keeps = there is not None and not replaces(
                    self._overwrite, entry.mtime_ns, latest_of_second(there.entry.mtime_ns)
                )
                raise ItemError(Reason.KEPT if keeps else Reason.DESTINATION_CHANGED, "it is not what was listed")
            return
        self.put(entry.path, entry.kind, data, attributes)

    def remove(self, path: str) -> None:
        """Remove an entry."""
        del self._entries[path]

    def contents(self) -> dict[str, Stored]:
        """Everything that the tree holds, by path."""
        return dict(self._entries)

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        """See ``ports.tree.Tree``."""
        pruning = Pruning(segment, prunes)
        for entry in sorted((stored.entry for stored in self._entries.values()), key=lambda entry: entry.sort_key):
            if within(segment, entry.path):
                yield from pruning(entry)

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        """See ``ports.tree.Tree``; few at a time, so that columns of two trees end at different places."""
        return in_columns(self.list(segment, prunes), 5)

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """See ``ports.tree.Tree``; memory knows every path, so even few of them are cut."""
        paths = [entry.path for entry in self.list(segment)][:-1]
        step = -(-len(paths) // ways)
        return paths[step - 1 : -1 : step] if step else []

    def find(self, path: str) -> Entry | None:
        """See ``ports.tree.Tree``."""
        stored = self._entries.get(path)
        return stored.entry if stored else None

    def find_stored(self, path: str) -> Found | None:
        """See ``ports.tree.Tree``."""
        stored = self._entries.get(path)
        if stored is None:
            return None
        checksum = crc64nvme(stored.data) if self._keeps_checksums else None
        return Found(stored.entry, checksum, _whole(stored) if self.is_mount else stored.attributes)

    def open(self, entry: Entry) -> MemorySource:
        """See ``ports.tree.Tree``."""
        stored = self._entries.get(entry.path)
        if stored is None:
            raise ItemError(Reason.SOURCE_VANISHED, "no such entry")
        if (stored.entry.etag, stored.entry.size) != (entry.etag, entry.size):
            raise ItemError(Reason.SOURCE_CHANGED, "the entry is not the one that was listed")
        given = stored.attributes
        if given.mtime_ns is None:  # as of an object without metadata; a file always has one
            given = replace(given, mtime_ns=stored.entry.mtime_ns)
        if self.is_mount:
            given = _whole(stored)
        return MemorySource(replace(stored, attributes=given))

    def create(self, entry: Entry, attributes: Attributes) -> MemoryTarget:
        """See ``ports.tree.Tree``."""
        return MemoryTarget(self, entry, attributes)

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        """See ``ports.tree.Tree``."""
        token = f"begun-{next(self._changes)}"
        self._begun[token] = {}
        return token

    def open_blocks(self, entry: Entry, token: str) -> MemoryBlocks:
        """See ``ports.tree.Tree``."""
        return MemoryBlocks(self, entry, self._begun[token])

    def unfinished_blocks(self) -> int:
        """Blocks that were written of files that were neither completed nor discarded."""
        return sum(len(blocks) for blocks in self._begun.values())

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        """See ``ports.tree.Tree``."""
        self.replace(replace(entry, kind=Kind.DIRECTORY), b"", attributes)

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        """See ``ports.tree.Tree``."""
        mode = attributes.mode if attributes.is_symlink else stat.S_IFLNK | 0o777
        self.replace(replace(entry, kind=Kind.SYMLINK), target, replace(attributes, mode=mode))

    def link(self, entry: Entry, first: str) -> None:
        """See ``ports.tree.Tree``; both names hold the same bytes."""
        stored = self._entries.get(first)
        if stored is None:
            raise ItemError(Reason.TRANSIENT, f"{first} is not there")
        if stored.entry.size != entry.size:
            raise ItemError(Reason.DESTINATION_CHANGED, f"{first} is no longer the copy")
        self.put(entry.path, stored.entry.kind, stored.data, stored.attributes)

    def set_attributes(self, entry: Entry, attributes: Attributes) -> None:
        """See ``ports.tree.Tree``."""
        self.put(entry.path, Kind.DIRECTORY, b"", attributes)

    def open_directory(self, entry: Entry, mode: int) -> None:
        """See ``ports.tree.Tree``; no directory is made that is no entry."""

    delete_batch = 10

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        """See ``ports.tree.Tree``."""
        problems = {}
        for entry in entries:
            stored = self._entries.get(entry.path)
            if stored is not None and stored.entry.etag != entry.etag:
                problems[entry.path] = ItemError(Reason.DESTINATION_CHANGED, "it is not what was listed")
            else:
                self._entries.pop(entry.path, None)
        return problems

    def remove_directory(self, entry: Entry) -> None:
        """See ``ports.tree.Tree``."""
        if any(path.startswith(entry.path) and path != entry.path for path in self._entries):
            raise ItemError(Reason.NOT_EMPTY, "something is in it")
        self._entries.pop(entry.path, None)

    def small_files_from(self, source: Tree) -> None:
        """See ``ports.tree.Tree``; here is no shorter way."""

    @property
    def overlaps(self) -> bool:
        """See ``ports.tree.Tree``; memory does not wait."""
        return False

    def take_made(self) -> tuple[()]:
        """See ``ports.file_system.FileSystem``; no run publishes to memory."""
        return ()

    def link_from(self, entry: Entry, place: str, made: Collection[Made]) -> bool:
        """See ``ports.tree.Tree``; no run publishes to memory."""
        raise AssertionError(f"{entry.path} is to be linked from {place}")

    def versions(self, link: str) -> Versions:
        """See ``ports.tree.Tree``; no run publishes to memory."""
        raise AssertionError(f"{link} is to be published")

    @property
    def file_system(self) -> Self:
        """See ``ports.tree.Tree``."""
        return self

    def block_bytes(self, entry: Entry) -> int:
        """See ``ports.tree.Tree``."""
        return tuning.BLOCK_BYTES

    def check(self, *, writing: bool) -> None:
        """See ``ports.tree.Tree``; memory is always there."""

    def limitations(self) -> tuple[str, ...]:
        """See ``ports.tree.Tree``."""
        return ()

    def has_hard_links(self) -> bool:
        """See ``ports.file_system.FileSystem``."""
        return True

    def clock_ns(self) -> tuple[int, int]:
        """See ``ports.tree.Tree``."""
        now_ns = next(self._changes) * self._tick_ns + self._ahead_ns
        return now_ns, now_ns

    def identity(self) -> str:
        """See ``ports.tree.Tree``; memory has one root."""
        return ""

    def close(self) -> None:
        """See ``ports.tree.Tree``; nothing is held open."""

    def keep_out(self, identity: str, refusal: Callable[[str], Exception]) -> None:
        """See ``ports.file_system.FileSystem``; memory is seen by one name."""

    def published_above(self) -> str | None:
        """See ``ports.file_system.FileSystem``; no run publishes to memory."""
        return None

    def mark(self) -> None:
        """See ``ports.file_system.FileSystem``; memory is seen by one name."""

    def staged_above(self, run_ids: Collection[str]) -> str | None:
        """See ``ports.file_system.FileSystem``."""
        return None

    def marked(self) -> str | None:
        """See ``ports.file_system.FileSystem``; memory is seen by one name."""
        return None

    def fence(
        self,
        known: Sequence[Fence],
        beside: Callable[[], Collection[str]],
        may_fence: Callable[[str], None] = fence_any,
    ) -> bool:
        """See ``ports.tree.Tree``; nobody else writes."""
        return True

    def clear(self) -> None:
        """See ``ports.tree.Tree``; nothing is staged."""

    def finish(self) -> tuple[str, ...]:
        """See ``ports.tree.Tree``; nothing is staged."""
        return ()


class MemoryEntryCopier:
    """An ``EntryCopier`` between two trees of one process."""

    def __init__(self, source: MemoryTree, destination: MemoryTree) -> None:
        self._source, self._destination = source, destination

    def copy(self, entry: Entry, deadline: Deadline) -> str | None:
        """See ``ports.tree.EntryCopier``."""
        data = self._source.open(entry).read(0, entry.size)
        self._destination.replace(entry, data, self._source.contents()[entry.path].attributes)
        return None if entry.kind is Kind.DIRECTORY else to_base64(crc64nvme(data))
