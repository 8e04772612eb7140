"""Writes failures.jsonl, a row for each entry that failed or was rejected."""

from __future__ import annotations

from collections import defaultdict

from msgspec import to_builtins

from fanout.books.failures import Failure, FailureClasses, failure_of
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry_outcome import Outcome
from fanout.shards.entry_report import write_entries

# Rows of one file of failures: bounds the memory that writing it takes.
FAILURES_PER_FILE = 100_000


class FailureWriter:
    """Writes failures.jsonl, and failures-2.jsonl and on when there are very many; ``reports``: into entries/ too."""

    def __init__(self, ledger: Ledger, *, reports: bool = False) -> None:
        self._ledger = ledger
        self._reports = reports
        self._entries: defaultdict[str, list[Outcome]] = defaultdict(list)
        self._rows: list[Failure] = []
        self._files = 0
        self.count = 0
        self.classes = FailureClasses()

    def add(self, outcome: Outcome, phase: str) -> None:
        row = failure_of(outcome, phase)
        self.count += 1
        self.classes.add(row)
        self._rows.append(row)
        if self._reports:
            self._entries[phase].append(outcome)
        if len(self._rows) >= FAILURES_PER_FILE:
            self._flush()

    def close(self) -> None:
        """Write what is left; failures.jsonl is written even if it is empty."""
        if self._rows or not self._files:
            self._flush()

    def _flush(self) -> None:
        self._files += 1
        key = keys.FAILURES if self._files == 1 else keys.more_failures_key(self._files)
        self._ledger.write_rows(key, map(to_builtins, self._rows))  # names may hold bytes that are no text
        for phase, outcomes in self._entries.items():
            write_entries(self._ledger, phase, f"failed-{self._files:04d}", outcomes)
        self._rows = []
        self._entries.clear()
