"""Stores the hard-link names that one segment found until PartitionShards knows all of them."""

from __future__ import annotations

from fanout.ledger import keys
from fanout.ledger.rows import name_row
from fanout.model.segment import Segment
from fanout.model.shard import Name, Shard
from fanout.shards.crowds import Crowds
from fanout.work.context import Context

_NAMES_PER_FILE = 50_000


class NamesWriter:
    """Writes the names of one segment in files of bounded size; ``files`` are complete after ``close``."""

    def __init__(self, segment: Segment, context: Context, crowds: Crowds) -> None:
        self._segment, self._context, self._crowds = segment, context, crowds
        self._names: list[Name] = []
        self.files: list[Shard] = []

    def add(self, name: Name) -> None:
        """Keep a name, or a directory that is right as long as no name in it is written again."""
        self._names.append(name)
        if len(self._names) >= _NAMES_PER_FILE:
            self.close()

    def close(self) -> None:
        """Write what is held."""
        if not self._names:
            return
        number = len(self.files)
        key = keys.listed_names_key(self._segment.id, self._context.nonce, number)
        self._context.ledger.write_rows(key, map(name_row, self._names))
        self._crowds.add(name.entry for name in self._names if not name.unchanged)
        shard_id = f"{self._segment.id}-{self._context.nonce}-names-{number:04d}"
        size = sum(name.entry.size for name in self._names)
        self.files.append(Shard(shard_id, key, len(self._names), size, 0.0))
        self._names = []
