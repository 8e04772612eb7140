"""Writes the outcomes of a task on a shard, and reads which entries have one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import made_row
from fanout.model.books import Count
from fanout.model.entry import Entry, MadeEntry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.entry_report import report_done
from fanout.shards.made_directories import SeenDirectory, rows_of, take
from fanout.shards.record import record_of, records, settled, write_outcomes
from fanout.shards.tasks.attempts import TaskNotes, failures_of
from fanout.shards.tasks.shard_task import too_large
from fanout.work.context import Context


class OutcomeWriter:
    """Writes outcomes in files that no other attempt names, every ``tuning.CHECKPOINT_SECONDS``.

    ``notes`` receives the progress in between. A ``plan`` that asks for it has the entries reported too. ``take_made``
    hands over what a version got.
    """

    def __init__(
        self,
        shard: Shard,
        context: Context,
        notes: TaskNotes | None = None,
        plan: Plan | None = None,
        take_made: Callable[[], Sequence[MadeEntry]] = tuple,
    ) -> None:
        self._take_made = take_made
        self._plan = plan
        self._shard, self._context, self._notes = shard, context, notes
        self._held: dict[int, Outcome] = {}
        self._files = 0
        self._written_at = self._noted_at = context.clock.now()
        self.written = 0
        self.copied = Count()
        self.failures: Counter[str] = Counter()
        self._settled_bytes = 0

    def add(self, index: int, outcome: Outcome, directories: list[SeenDirectory]) -> None:
        """Take an outcome; writes when it is time to."""
        self._held[index] = outcome
        now = self._context.clock.now()
        if now - self._written_at >= tuning.CHECKPOINT_SECONDS:
            self.flush(directories)
            self._context.ledger.settle()
        if self._notes is not None and now >= self._notes.due_at:
            self._note(self._notes)

    def _note(self, notes: TaskNotes) -> None:
        """Note how far this task is; what is held has yet to be written, and is on its way."""
        held = self._held.values()
        size = self._settled_bytes + sum(outcome.size for outcome in held)
        notes.write(Count(self.written + len(held), size), self.failures + failures_of(held))

    def flush(self, directories: list[SeenDirectory]) -> None:
        """Write what is held. Directories and records first: without them an outcome must not count."""
        self._written_at = self._context.clock.now()
        if not self._held:
            return
        ledger, nonce = self._context.ledger, self._context.nonce
        rows = rows_of(take(directories))
        if rows:
            ledger.write_rows(keys.directories_key(self._shard.id, nonce, self._files), rows)
        write_made(self._take_made(), ledger, nonce, self._files)
        seconds, self._noted_at = self._written_at - self._noted_at, self._written_at
        name = f"{nonce}-{self._files:04d}"
        if self._plan is not None:
            report_done(self._plan, ledger, "copy", f"{self._shard.id}-{name}", self._held.values())
        record = replace(record_of(self._held), seconds=round(seconds, 3), at=self._written_at, directories=len(rows))
        write_outcomes(self._shard.id, name, self._held, ledger, record)
        self.written += len(self._held)
        self.copied += record.results[Result.COPIED]
        self.failures += failures_of(self._held.values())
        self._settled_bytes += sum(count.bytes for count in record.outcomes.values())
        self._files += 1
        self._held = {}


def write_made(made: Iterable[MadeEntry], ledger: Ledger, name: str, number: int) -> None:
    """Record what an attempt made of a version, before its outcomes say that it is there; ``name`` is its own."""
    ordered = sorted(made, key=lambda one: os.fsencode(one.path))
    if ordered:
        key = keys.made_key(ordered[0].path, ordered[-1].path, name, number)
        ledger.whole_run().write_rows(key, map(made_row, ordered))


def settled_indexes(shard: Shard, ledger: Ledger) -> set[int]:
    """The indexes of the shard's entries that have an outcome."""
    return settled(records(shard.id, ledger))


def out_of_time_outcome(entry: Entry) -> Outcome:
    """The outcome of an entry that a whole function could not copy."""
    return Outcome.because(entry, Reason.OUT_OF_TIME, too_large(entry, "copies"))
