"""Writes the index of a run's results at both ends during the listing; names it once the run has succeeded."""

from __future__ import annotations

from fanout.ledger import keys, run_places
from fanout.ledger.ledger import Ledger
from fanout.listing.index.copied_index import Index, IndexOf, IndexRows, indexed_kinds, keeps_index, transfer_digest
from fanout.model.columns import FileColumns
from fanout.model.entry import Entry
from fanout.model.segment import Segment
from fanout.request.plan import Plan
from fanout.shards.rounds import IndexFile, whole_listing
from fanout.work.context import Context

# Entries of one file: bounds the memory of its writer and its readers to some tens of megabytes.
ENTRIES_PER_FILE = 50_000


class IndexWriter:
    """Takes what one ListSegment copies or finds unchanged; a run that keeps no index writes none."""

    def __init__(self, plan: Plan, segment: Segment, context: Context) -> None:
        self._writes = keeps_index(plan) and plan.request.course.writes
        self._segment, self._context = segment, context
        self._kinds = indexed_kinds(plan)
        self._rows = IndexRows(self._kinds)
        self._files: list[IndexFile] = []

    def add(self, source: Entry, destination: Entry | None) -> None:
        """Take an entry that is unchanged, or without a destination one that is copied."""
        if self._writes:
            self._rows.add(source, destination)
            self._write_many()

    def add_files(self, source: FileColumns, destination: FileColumns | None) -> None:
        """Take files that are unchanged, or without a destination copied."""
        start = 0
        while self._writes and start < len(source):
            end = start + ENTRIES_PER_FILE - len(self._rows)
            self._rows.add_files(source.part(start, end), destination and destination.part(start, end))
            self._write_many()
            start = end

    def _write_many(self) -> None:
        if len(self._rows) >= ENTRIES_PER_FILE:
            self._write()

    def _write(self) -> None:
        key = keys.index_part_key(self._segment.id, self._context.nonce, len(self._files))
        first, last = self._rows.bounds
        self._context.ledger.write_rows(key, self._rows.rows())
        self._files.append(IndexFile(key, first, last))
        self._rows = IndexRows(self._kinds)

    def close(self) -> list[IndexFile]:
        """Write what is held; returns the files."""
        if len(self._rows):
            self._write()
        return self._files


def no_index_note(plan: Plan, ledger: Ledger, entries: int) -> list[str]:
    """The summary's note that this run did not succeed, so the next run has no index of it.

    ``entries`` counts those that the run found unchanged or copied.
    """
    if not (keeps_index(plan) and plan.request.course.writes):
        return []
    found = ledger.find(keys.EARLIER, IndexOf)
    earlier = found.run if found else ""
    follows = (
        f"uses that of {earlier}, and copies again what changed after that run"
        if earlier
        else f"checks what seems unchanged, up to {entries:,} entries, objects one by one"
    )
    return [f"this run did not succeed and leaves no index: the next run {follows}"]


def name_index(plan: Plan, ledger: Ledger, began: float, ended: float) -> None:
    """Make a run's index the one that the next run of the same transfer uses. Call it after the run has succeeded.

    ``began`` and ``ended`` are seconds since 1970.
    """
    if not (keeps_index(plan) and plan.request.course.writes):
        return
    files = [file for done in whole_listing(ledger) for file in done.index]
    ledger.write(keys.INDEX, Index(files, began, ended))
    if plan.version:  # whoever publishes next finds it by the name of the version
        return
    ledger.of_run(run_places.INDEXES).write(f"{transfer_digest(plan)}.json", IndexOf(ledger.run_id))
