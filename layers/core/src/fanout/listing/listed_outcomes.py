"""The outcomes of entries that a listing settles; those of entries that are the same come in columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from fanout.ledger import keys
from fanout.ledger.rows import listed_outcomes, outcome_row, same_row
from fanout.model.books import Tally
from fanout.model.columns import FileColumns
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.model.segment import Segment
from fanout.request.plan import Plan
from fanout.shards.entry_report import report_done
from fanout.work.context import Context

OUTCOMES_PER_FILE = 50_000

# Entries of one row: keeps a line of the ledger at some tens of kilobytes.
_A_ROW = 1_000


class SameEntries:
    """Holds a path, a kind and a size for each entry, which is less than the entry or an outcome takes."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._kinds: list[Kind] = []
        self._sizes: list[int] = []

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, entry: Entry) -> None:
        self._paths.append(entry.path)
        self._kinds.append(entry.kind)
        self._sizes.append(entry.size)

    def add_files(self, files: FileColumns) -> None:
        self._paths += files.paths
        self._kinds += [Kind.FILE] * len(files)
        self._sizes += files.sizes

    def rows(self) -> Iterator[Json]:
        for start in range(0, len(self), _A_ROW):
            part = slice(start, start + _A_ROW)
            yield same_row(self._paths[part], self._kinds[part], self._sizes[part])


class ListedOutcomes:
    """Writes the outcomes of one segment in files of bounded size."""

    def __init__(self, plan: Plan, segment: Segment, context: Context) -> None:
        self._plan, self._segment, self._context = plan, segment, context
        self._left_out = plan.request.left_out
        self._held: list[Outcome] = []
        self._same = SameEntries()
        self.results = {result: Tally() for result in Result}
        self.files: list[str] = []

    def settle(self, entry: Entry, reason: Reason, message: str = "") -> None:
        """Take the outcome of an entry that is not copied."""
        if reason is Reason.SAME:
            self.results[Result.UNCHANGED].add(entry.size)
            self._same.add(entry)
        else:
            outcome = Outcome.because(entry, reason, message, left_out=self._left_out)
            self.results[outcome.result].add(entry.size)
            self._held.append(outcome)
        self._write_many()

    def add_same(self, files: FileColumns, size: int) -> None:
        """Take files that are unchanged, of so many bytes together."""
        self.results[Result.UNCHANGED].add_all(len(files), size)
        self._same.add_files(files)
        self._write_many()

    def _write_many(self) -> None:
        if len(self._held) + len(self._same) >= OUTCOMES_PER_FILE:
            self.close()

    def close(self) -> None:
        if not self._held and not self._same:
            return
        ledger, number = self._context.ledger, len(self.files)
        key = keys.listed_outcomes_key(self._segment.id, self._context.nonce, number)
        same = chain.from_iterable(map(listed_outcomes, self._same.rows()))
        report_done(self._plan, ledger, "list", f"{self._segment.id}-{number:04d}", chain(self._held, same))
        ledger.write_rows(key, chain(map(outcome_row, self._held), self._same.rows()))
        self.files.append(key)
        self._held, self._same = [], SameEntries()
