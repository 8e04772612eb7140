"""A tree in memory: a real adapter for tests."""

from __future__ import annotations

import itertools
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Self

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.columns import Listed, in_columns
from fanout.model.deadline import Deadline
from fanout.model.entry import NOTHING_THERE, Attributes, Entry, Found, Kind, MadeEntry, Place
from fanout.model.errors import ItemError
from fanout.model.file_system import Staged
from fanout.model.outcome import Reason
from fanout.model.segment import Prunes, Segment, no_pruning, within
from fanout.ports.file_system import Fenced, SourceDirectories, fence_any, made_nothing
from fanout.ports.tree import OpensEntries
from fanout.ports.turns import Fence
from fanout.ports.versions import Versions
from fanout.request.filtering.pruning import Pruning
from fanout.request.options import Overwrite, latest_of_second, replaces
from tests.support.memory_files import MemoryBlocks, MemorySource, MemoryTarget, Stored


def _whole(stored: Stored) -> Attributes:
    """The attributes of an entry on a mount, which has all."""
    given = stored.attributes
    mode, uid, gid = given.mode or stat.S_IFREG | 0o644, given.uid or 0, given.gid or 0
    return replace(given, mode=mode, uid=uid, gid=gid, mtime_ns=stored.entry.mtime_ns, unreadable={})


class MemoryTree:
    """A ``Tree`` and a ``FileSystem`` of one process.

    Its time is ``changes``, of ``tick_ns`` each; trees that share it share a clock, and ``ahead_ns`` is how far this
    one's is ahead. Without ``keeps_checksums`` it is a store that knows none. ``is_mount``: all have all attributes.
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

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which gets what it holds now."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

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
        pruning = Pruning(segment, prunes)
        for entry in sorted((stored.entry for stored in self._entries.values()), key=lambda entry: entry.sort_key):
            if within(segment, entry.path):
                yield from pruning(entry)

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        """Few at a time, so that columns of two trees end at different places."""
        return in_columns(self.list(segment, prunes), 5)

    def cuts(self, segment: Segment, ways: int) -> Sequence[str]:
        """Memory knows every path, so even few of them are cut."""
        paths = [entry.path for entry in self.list(segment)][:-1]
        step = -(-len(paths) // ways)
        return paths[step - 1 : -1 : step] if step else []

    def find(self, path: str) -> Entry | None:
        stored = self._entries.get(path)
        return stored.entry if stored else None

    def find_stored(self, path: str) -> Found | None:
        stored = self._entries.get(path)
        if stored is None:
            return None
        checksum = crc64nvme(stored.data) if self._keeps_checksums else None
        attributes = _whole(stored) if self.is_mount else stored.attributes
        return Found(stored.entry, checksum, attributes, etag_is_digest=False)

    def tags(self, path: str) -> dict[str, str]:
        """As many tags as the attributes of the entry count."""
        return {f"tag-{number}": "" for number in range(self._entries[path].attributes.tags)}

    def open(self, entry: Entry) -> MemorySource:
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
        return MemoryTarget(self, entry, attributes)

    def begin_blocks(self, entry: Entry, attributes: Attributes) -> str:
        token = f"begun-{next(self._changes)}"
        self._begun[token] = {}
        return token

    def open_blocks(self, entry: Entry, token: str) -> MemoryBlocks:
        return MemoryBlocks(self, entry, self._begun[token])

    def unfinished_blocks(self) -> int:
        """Blocks that were written of files that were neither completed nor discarded."""
        return sum(len(blocks) for blocks in self._begun.values())

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        self.replace(replace(entry, kind=Kind.DIRECTORY), b"", attributes)

    def make_symlink(self, entry: Entry, target: bytes, attributes: Attributes) -> None:
        mode = attributes.mode if attributes.is_symlink else stat.S_IFLNK | 0o777
        self.replace(replace(entry, kind=Kind.SYMLINK), target, replace(attributes, mode=mode))

    def link(self, entry: Entry, first: str) -> None:
        """Both names hold the same bytes."""
        stored = self._entries.get(first)
        if stored is None:
            raise ItemError(Reason.TRANSIENT, f"{first} is not there")
        if stored.entry.size != entry.size:
            raise ItemError(Reason.DESTINATION_CHANGED, f"{first} is no longer the copy")
        self.put(entry.path, stored.entry.kind, stored.data, stored.attributes)

    def placed_inode(self, path: str) -> str:
        """Nobody else writes to memory."""
        return self._entries[path].entry.inode

    def set_attributes(self, entry: Entry, attributes: Attributes, *, is_closed: bool = True) -> None:
        self.put(entry.path, Kind.DIRECTORY, b"", attributes)

    def open_directory(self, entry: Entry, mode: int) -> None:
        """No directory is made that is no entry."""

    delete_batch = 10

    def delete(self, entries: Sequence[Entry]) -> dict[str, ItemError]:
        problems = {}
        for entry in entries:
            stored = self._entries.get(entry.path)
            if stored is not None and stored.entry.etag != entry.etag:
                problems[entry.path] = ItemError(Reason.DESTINATION_CHANGED, "it is not what was listed")
            else:
                self._entries.pop(entry.path, None)
        return problems

    def remove_directory(self, entry: Entry) -> None:
        if any(path.startswith(entry.path) and path != entry.path for path in self._entries):
            raise ItemError(Reason.NOT_EMPTY, "something is in it")
        self._entries.pop(entry.path, None)

    def small_files_from(self, source: OpensEntries) -> None:
        """Here is no shorter way."""

    @property
    def overlaps(self) -> bool:
        """Memory does not wait."""
        return False

    def place_of(self, entry: Entry) -> Place:
        """Nobody replaces a directory in memory."""
        return Place(entry.path, "")

    def close_by(self, source: SourceDirectories) -> None:
        """Memory has no users."""

    def take_places(self) -> tuple[()]:
        """Nobody replaces a directory in memory."""
        return ()

    def require_place(self, entry: Entry) -> None:
        """Nobody replaces a directory in memory."""

    def look_anew(self, path: str) -> None:
        """Memory has no cache."""

    def take_made(self) -> tuple[()]:
        """No run publishes to memory."""
        return ()

    def link_from(self, entry: Entry, place: str, made: Collection[MadeEntry]) -> bool:
        """No run publishes to memory."""
        raise AssertionError(f"{entry.path} is to be linked from {place}")

    def versions(self, link: str) -> Versions:
        """No run publishes to memory."""
        raise AssertionError(f"{link} is to be published")

    @property
    def file_system(self) -> Self:
        return self

    def block_bytes(self, entry: Entry) -> int:
        return tuning.BLOCK_BYTES

    def check(self, *, writing: bool) -> None:
        """Memory is always there."""

    def limitations(self) -> tuple[str, ...]:
        return ()

    def has_hard_links(self) -> bool:
        return True

    def clock_ns(self) -> tuple[int, int]:
        now_ns = next(self._changes) * self._tick_ns + self._ahead_ns
        return now_ns, now_ns

    def identity(self) -> str:
        """Memory has one root."""
        return ""

    def close(self) -> None:
        """Nothing is held open."""

    def keep_out(self, identity: str, refusal: Callable[[str], Exception]) -> None:
        """Memory is seen by one name."""

    def published_above(self) -> str | None:
        """No run publishes to memory."""
        return None

    def mark(self) -> None:
        """Memory is seen by one name."""

    def staged_above(self, run_ids: Collection[str]) -> str | None:
        return None

    def marked(self) -> str | None:
        """Memory is seen by one name."""
        return None

    def recall(self, noted: Callable[[], Staged | None]) -> None:
        """Nothing is staged."""

    def staged(self) -> Staged | None:
        return None

    def fence(
        self,
        known: Sequence[Fence],
        concurrent: Callable[[], Collection[str]],
        may_fence: Callable[[str], None] = fence_any,
        made_by: Callable[[str], Collection[Staged]] = made_nothing,
    ) -> Fenced:
        """Nobody else writes."""
        return Fenced(whole=True)

    def end_copies(self) -> None:
        """Nothing is staged."""

    def clear(self) -> None:
        """Nothing is staged."""

    def close_opened(self) -> None:
        """Nothing is write-protected here."""

    made_root = ""

    def unmake(self, made: str) -> None:
        """Memory has no root to make."""

    def finish(self) -> tuple[str, ...]:
        """Nothing is staged."""
        return ()


class MemoryEntryCopier:
    """An ``EntryCopier`` between two trees of one process."""

    def __init__(self, source: MemoryTree, destination: MemoryTree) -> None:
        self._source, self._destination = source, destination

    def copy(self, entry: Entry, deadline: Deadline) -> str | None:
        data = self._source.open(entry).read(0, entry.size)
        self._destination.replace(entry, data, self._source.contents()[entry.path].attributes)
        return None if entry.kind is Kind.DIRECTORY else to_base64(crc64nvme(data))
