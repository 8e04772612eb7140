"""A tree whose objects lie in archives of S3, and an S3 that restores them in its own time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf

from msgspec.structs import replace

from fanout.facts import archives
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import FanoutError, ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.ports.s3_services import ObjectLook
from fanout.request.parts.restore import Restore
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemorySource

DAY = 86_400.0


@dataclass
class Object:
    """An object in an archive: when it can be read, and until when."""

    archive: str
    readable_at: float = inf
    expires_at: float = inf
    asked: bool = False


@dataclass
class FakeArchive:
    """An ``ObjectArchive`` with a clock; ``takes`` times the seconds that S3 names, and ``days`` as asked.

    ``refuses`` and ``fails`` raise for a path, the second as often as it says.
    """

    clock: ManualClock
    takes: float = 0.9
    objects: dict[str, Object] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)
    refuses: dict[str, ItemError] = field(default_factory=dict)
    fails: dict[str, list[FanoutError]] = field(default_factory=dict)
    tree: MemoryTree | None = None

    def is_readable(self, path: str) -> bool:
        """Whether its bytes can be read now."""
        one = self.objects.get(path)
        return one is None or one.readable_at <= self.clock.time < one.expires_at

    def look(self, entry: Entry) -> ObjectLook:
        """See ``ports.aws.ObjectArchive``."""
        self.looks[entry.path] += 1
        found = None if self.tree is None else self.tree.find(entry.path)
        if found is not None and found.etag != entry.etag:
            raise ItemError(Reason.SOURCE_CHANGED, "it was written after it was listed")
        one = self.objects.get(entry.path)
        if one is None or self.is_readable(entry.path):
            return ObjectLook(version="v1")
        return ObjectLook(one.archive, asked=one.asked and one.readable_at > self.clock.time, version="v1")

    def ask(self, entry: Entry, look: ObjectLook, restore: Restore) -> None:
        """See ``ports.aws.ObjectArchive``."""
        assert look.version == "v1"
        if failures := self.fails.get(entry.path):
            raise failures.pop()
        if entry.path in self.refuses:
            raise self.refuses[entry.path]
        self.asked[entry.path] += 1
        one = self.objects[entry.path]
        one.asked = True
        one.readable_at = self.clock.time + self.takes * restore.seconds_from(one.archive)
        one.expires_at = one.readable_at + restore.days * DAY


class ArchivedSource(MemorySource):
    """An object that may lie in an archive: its bytes are refused then."""

    def __init__(self, source: MemorySource, is_readable: Callable[[], bool]) -> None:
        super().__init__(source._stored)
        self._is_readable = is_readable

    def read(self, offset: int, length: int) -> bytes:
        """See ``ports.tree.Source``."""
        if not self._is_readable():
            raise ItemError(Reason.SOURCE_ARCHIVED, "restore the object from its archive first")
        return super().read(offset, length)


class ArchivedTree(MemoryTree):
    """A tree in memory whose archived objects can be listed, and read when they are restored."""

    def __init__(self, changes: Iterator[int], archive: FakeArchive) -> None:
        super().__init__(changes)
        self.archive = archive
        archive.tree = self

    def put_archived(self, path: str, data: bytes, archive: str = archives.GLACIER) -> Entry:
        """Store an object in an archive."""
        self.archive.objects[path] = Object(archive)
        return self.put(path, Kind.FILE, data)

    tells = True

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        """See ``ports.tree.Tree``; each entry tells its storage class."""
        listed = super().list(segment, prunes)
        return map(self._told, listed) if self.tells else listed

    def _told(self, entry: Entry) -> Entry:
        one = self.archive.objects.get(entry.path)
        if one is None:
            return entry
        tiering = one.archive in archives.TIERS_OF_TIERING
        return replace(entry, held=archives.TIERING if tiering else one.archive)

    def open(self, entry: Entry) -> MemorySource:
        """See ``ports.tree.Tree``; a HEAD of an archived object works, as S3 does."""
        return ArchivedSource(super().open(entry), lambda: self.archive.is_readable(entry.path))


def restore(world: World, shards: Json) -> Json:
    """RestoreObjects, which goes on where the one before it was."""
    restored: Json = world.walk("RestoreObjects", world.state(shards=shards), "WhatIsRestored?")[1]["shards"]
    return restored
