"""Packs what a segment copies into shards, and writes those that are full."""

from __future__ import annotations

from fanout.model.columns import FileColumns, Listed, count_and_bytes
from fanout.model.entry import Entry
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.crowds import Crowds
from fanout.shards.packing import Packer, spread
from fanout.work.context import Context

# By what holds them, and whether they are linked: what is held is in shards of its own, and what is linked.
_Lot = tuple[str, bool]
_FILES: _Lot = ("", False)


class ListedShards:
    """Holds one shard of each lot until it is full."""

    def __init__(self, plan: Plan, segment: Segment, context: Context, crowds: Crowds) -> None:
        self._plan, self._ledger, self._crowds = plan, context.ledger, crowds
        self._name = f"{segment.id}-{context.nonce}"
        self._packers: dict[_Lot, Packer] = {}
        self._written = 0
        self.full: list[Shard] = []

    def add(self, entry: Entry, *, linked: bool = False) -> None:
        """Take an entry."""
        lot = (entry.held, linked)
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

    def _packer(self, lot: _Lot) -> Packer:
        packer = self._packers.get(lot)
        if packer is None:
            rates = self._plan.rates.of(linked=lot[1])
            packer = self._packers[lot] = Packer(rates, self._plan.request.limits.shard_seconds)
        return packer

    def _write(self, listed: list[Listed], lot: _Lot) -> Shard:
        shard_id = f"{self._name}-{self._written:04d}"
        self._written += 1
        entries, size = count_and_bytes(listed)
        self._crowds.add(listed)
        key = self._ledger.write_shard(shard_id, spread(listed))
        held, linked = lot
        seconds = round(self._plan.rates.of(linked=linked).seconds(entries, size), 3)
        return Shard(shard_id, key, entries, size, seconds, held=held, linked=linked)
