"""Collects what a segment copies: entries in shards, big files that are begun, names of files with several."""

from __future__ import annotations

from contextlib import closing

from fanout.ledger import keys
from fanout.ledger.rows import name_row
from fanout.model.columns import FileColumns, Listed, count_and_bytes
from fanout.model.entry import Entry
from fanout.model.segment import Segment
from fanout.model.shard import BigFile, Lot, Name, Shard, block_bytes_of
from fanout.ports.tree import OpensEntries
from fanout.request.plan import Plan
from fanout.shards.crowds import Crowds
from fanout.shards.packing import Packer
from fanout.shards.round_records import ListedBigFile
from fanout.work.context import Context
from fanout.work.other_mount import begins_big_files

_FILES = Lot()


class ListedShards:
    """Holds one shard of each lot until it is full."""

    def __init__(self, plan: Plan, segment: Segment, context: Context, crowds: Crowds) -> None:
        self._plan, self._ledger, self._crowds = plan, context.ledger, crowds
        self._name = f"{segment.id}-{context.nonce}"
        self._packers: dict[Lot, Packer] = {}
        self._written = 0
        self.full: list[Shard] = []

    def add(self, entry: Entry, *, linked: bool = False, done: bool = False) -> None:
        lot = Lot(entry.held, linked, done)
        full = self._packer(lot).add(entry)
        if full is not None:
            self.full.append(self._write(full, lot))

    def add_files(self, files: FileColumns) -> None:
        """Take files, as ``add`` takes each of them."""
        self.full += [self._write(full, _FILES) for full in self._packer(_FILES).add_files(files)]

    def loose(self) -> list[Shard]:
        """Write what is held; returns the shards."""
        rests = ((lot, rest) for lot, packer in sorted(self._packers.items()) if (rest := packer.rest()))
        return [self._write(rest, lot) for lot, rest in rests]

    def _packer(self, lot: Lot) -> Packer:
        packer = self._packers.get(lot)
        if packer is None:
            rates = lot.rates(self._plan.rates)
            packer = self._packers[lot] = Packer(rates, self._plan.request.limits.shard_seconds)
        return packer

    def _write(self, listed: list[Listed], lot: Lot) -> Shard:
        shard_id = f"{self._name}-{self._written:04d}"
        self._written += 1
        entries, size = count_and_bytes(listed)
        if not lot.done:
            self._crowds.add(listed)
        key = self._ledger.write_shard(shard_id, listed)
        seconds = round(lot.rates(self._plan.rates).seconds(entries, size), 3)
        return Shard(shard_id, key, entries, size, seconds, **lot._asdict())


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


class BegunBigFiles:
    """The big files of a segment; begun here, because only here both ends are at hand before the first block is copied.

    A plan begins nothing.
    """

    def __init__(self, plan: Plan, segment: Segment, context: Context, source: OpensEntries) -> None:
        self._begins, self._ledger = plan.request.course.writes, context.ledger
        self._name = f"{segment.id}-{context.nonce}-big"
        self._source, self._destination = source, begins_big_files(plan, context)
        self.listed: list[ListedBigFile] = []

    def begin(self, entry: Entry) -> None:
        """Begin a file. Raises ``ItemError``."""
        token = ""
        if self._begins:
            with closing(self._source.open(entry)) as source:
                token = self._destination.begin_blocks(entry.placed, source.attributes)
        big = BigFile(f"{self._name}-{len(self.listed):04d}", entry, block_bytes_of(entry.size), token)
        self._ledger.write(keys.big_file_key(big.id), big)
        self.listed.append(ListedBigFile(big.id, entry.size))
