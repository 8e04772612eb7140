"""A listing and the shards that come of it, in the ledger of a run or in that of its verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import LedgerBroken
from fanout.model.outcome import TROUBLE
from fanout.model.shard import Rates
from fanout.shards.partitioned import shards_of
from fanout.shards.round_records import round_done_key
from fanout.shards.tasks.attempt import Attempt, age_of, attempt_from_key, attempts_prefix, notes_prefix
from fanout_cli.progress.map_runs import MapCounts
from fanout_cli.progress.run_progress import ListingProgress
from fanout_cli.progress.work import ShardProgress, ShardsAtWork

# A page of a listing.
PAGE_KEYS = 1_000
# Chosen: the records of attempts are listed again after so many seconds for each page that they fill.
SECONDS_A_PAGE = 2.0


class Stage:
    """Reads the ledger of a stage: each document once, each page of keys seldom."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rounds = 0
        self._is_listed = False
        self._listed, self._segments = Count(), 0
        self._troubles: Counter[str] = Counter()
        self._newest: dict[str, int] = {}
        self._listing: dict[str, Attempt] = {}
        self._work: dict[str, ShardsAtWork] = {}
        self._attempts_at = float("-inf")

    def listed(self, at: float, counts: MapCounts | None) -> ListingProgress:
        """The listed entries, with the notes of the tasks of the running round."""
        while not self._is_listed and self._read_round():
            self._listing.clear()
        if self._is_listed:
            return ListingProgress(self._listed, self._segments, self._segments, dict(self._troubles))
        for note in self._notes("list"):
            if note.shard_id.startswith(f"{self._rounds + 1:04d}-"):
                known = self._listing.get(note.nonce)
                if known is None or (known.ended or 0.0) < (note.ended or 0.0):
                    self._listing[note.nonce] = note
        at_work = [Count(note.entries, note.bytes) for note in self._listing.values()]
        done, total = (counts.done, counts.total) if counts is not None else (0, 0)
        found = sum(at_work, self._listed)
        return ListingProgress(found, self._segments + done, self._segments + total, dict(self._troubles))

    def progress(
        self, phase: str, rates: Rates, at: float, running: int, ahead: str | None = None
    ) -> ShardProgress | None:
        """How far the shards are in a phase; ``None`` as long as they are not known.

        ``ahead`` is the phase whose tasks read a shard at the source first, between two file systems.
        """
        work = self._work.get(phase)
        if work is None:
            try:
                work = self._work[phase] = ShardsAtWork(shards_of(self._ledger), rates)
            except LedgerBroken:
                return None
            self._attempts_at = float("-inf")
        if at >= self._attempts_at:
            records = [attempt_from_key(key) for key in self._ledger.keys(attempts_prefix(phase))]
            self._attempts_at = at + SECONDS_A_PAGE * (len(records) // PAGE_KEYS)
            work.take(at, records)
        work.take(at, self._notes(phase))
        if ahead is not None:
            work.take_staged(self._notes(ahead))
        return work.progress(at, running)

    def _read_round(self) -> bool:
        """Read the record of the next round, if it is closed."""
        done = self._ledger.find(round_done_key(self._rounds + 1))
        if done is None:
            return False
        self._rounds += 1
        self._listed += done.listed
        self._segments += done.segments
        for result, count in done.outcomes.items():
            if result in TROUBLE and count.entries:
                self._troubles[f"{result.value} by the listing"] += count.entries
        self._is_listed = not done.left
        return True

    def _notes(self, phase: str) -> Iterator[Attempt]:
        """The notes of a phase that may be new: those of the span of the newest one, and of the span before."""
        newest = None
        for key in self._ledger.keys(notes_prefix(phase)):
            age = age_of(key)
            newest = age if newest is None else newest
            if age > self._newest.get(phase, newest) + 1:
                break
            yield attempt_from_key(key)
        if newest is not None:
            self._newest[phase] = newest
