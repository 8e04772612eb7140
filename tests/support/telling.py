"""A tree in memory that tells checksums as a bucket does, or none as a mount."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from msgspec.structs import replace

from fanout.model.checksum import CRC64NVME, RunningSums
from fanout.model.entry import Entry, Found, Kind
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemorySource


class Telling(MemoryTree):
    """A store that keeps checksums of these algorithms and counts the bytes that are read of it."""

    def __init__(self, tells: Sequence[str] = ()) -> None:
        super().__init__(itertools.count(1))
        self.tells, self.read_bytes = tells, 0

    def find_stored(self, path: str) -> Found | None:
        found = super().find_stored(path)
        if found is None or self.is_mount or found.entry.kind is Kind.DIRECTORY:
            return found if found is None else replace(found, crc64nvme=None)
        told: dict[str, str] = {}
        for name in self.tells:
            sums = RunningSums([name])
            sums.update(self.contents()[path].data)
            told[name] = sums.whole()[name]
        known = found.crc64nvme if told.pop(CRC64NVME, None) else None
        return replace(found, crc64nvme=known, others=told)

    def open(self, entry: Entry) -> MemorySource:
        self.read_bytes += entry.size
        return super().open(entry)
