"""Writes the rows of one ListSegment in files of bounded size, and its record last."""

from __future__ import annotations

from fanout.ledger import keys
from fanout.ledger.rows import outcome_row
from fanout.listing.index.earlier_index import IndexWriter
from fanout.listing.listed_outcomes import ListedOutcomes
from fanout.listing.listed_shards import BegunBigFiles, ListedShards, NamesWriter
from fanout.model.books import Count, Tally
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason
from fanout.model.segment import Row, Segment
from fanout.model.shard import Deletion, Name
from fanout.ports.tree import OpensEntries
from fanout.request.plan import Plan
from fanout.shards.crowds import Crowds
from fanout.shards.round_records import SegmentRecord, write_segment_record
from fanout.shards.sizes import Sizes
from fanout.work.context import Context


class SegmentWriter:
    """Collects the rows of one ListSegment, and what its record counts. ``SegmentEntries`` decides what they are."""

    def __init__(self, plan: Plan, segment: Segment, context: Context, source: OpensEntries) -> None:
        self._segment, self._context = segment, context
        self._began = context.clock.now()
        self._outcomes = ListedOutcomes(plan, segment, context)
        self.settle, self.settle_files = self._outcomes.settle, self._outcomes.add_same
        self._big_files = BegunBigFiles(plan, segment, context, source)
        self._extras: list[Outcome] = []
        self.index = IndexWriter(plan, segment, context)
        self.sizes, self._crowds = Sizes(), Crowds()
        self._copies = ListedShards(plan, segment, context, self._crowds)
        self.pack_files = self._copies.add_files
        self._names = NamesWriter(segment, context, self._crowds)
        self.listed, self.to_copy = Tally(), Tally()
        self.in_scope, self.destination, self.left_published = Tally(), Tally(), Tally()
        self.heads, self.complete = 0, True
        self.directories: list[str] = []
        self.deletions: list[Deletion] = []
        self.in_the_way = Count()

    def begin_big_file(self, entry: Entry) -> None:
        """Begin a file that several functions copy. Raises ``ItemError``."""
        self._big_files.begin(entry)
        self.to_copy.add(entry.size)

    def pack(self, entry: Entry, *, linked: bool = False, done: bool = False) -> None:
        """Put an entry into a shard; one that is ``done`` is only verified there."""
        self.to_copy.add(entry.size)
        self._copies.add(entry, linked=linked, done=done)

    def keep_name(self, name: Name) -> None:
        """Keep a name as it is, as in a run that compares the hard links of both ends."""
        self.to_copy.add(name.entry.size)
        self._names.add(name)

    def refuse(self, row: Row) -> None:
        """Write the outcome of a manifest's row that is about no entry of the source; it counts as listed."""
        kind = Kind.DIRECTORY if row.path.endswith("/") else Kind.FILE
        self.listed.add(0)
        self.settle(Entry(row.path, kind), row.reason or Reason.MANIFEST_ROW, row.message)

    def add_extras(self, entries: list[Entry]) -> None:
        """Write the outcomes of entries that only the destination holds."""
        self._extras += [Outcome.because(entry, Reason.EXTRA) for entry in entries]

    def close(self, left: list[Segment], matched: list[str] | None) -> None:
        """Write what is held, and the segment's record last: it makes all the rest count.

        ``left`` and ``matched`` are the record's.
        """
        loose = self._copies.loose()
        self._outcomes.close()
        extras = [keys.extras_key(self._segment.id, self._context.nonce)] if self._extras else []
        for key in extras:
            self._context.ledger.write_rows(key, map(outcome_row, self._extras))
        self._names.close()
        record = SegmentRecord(
            segment=self._segment,
            complete=self.complete,
            listed=self.listed.count,
            sizes=self.sizes.row(),
            crowds=self._crowds.row(),
            to_copy=self.to_copy.count,
            outcomes={result: tally.count for result, tally in self._outcomes.results.items()},
            outcome_files=self._outcomes.files,
            shards=self._copies.full,
            loose=loose,
            big_files=self._big_files.listed,
            index=self.index.close(),
            extras=extras,
            in_scope=self.in_scope.count,
            destination=self.destination.count,
            published=self.left_published.count,
            directories=self.directories,
            deletions=self.deletions,
            in_the_way=self.in_the_way,
            names=self._names.files,
            heads=self.heads,
            matched=matched,
            left=left,
            seconds=round(self._context.clock.now() - self._began, 3),
        )
        write_segment_record(record, self._context.ledger)
