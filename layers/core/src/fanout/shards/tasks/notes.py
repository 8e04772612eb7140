"""Notes a task's progress while it works, for people who watch the run.

No state and no summary reads a note: outcomes record the work of a task. So a note that cannot be written
is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import FanoutError
from fanout.model.outcome import TROUBLE
from fanout.shards.tasks.attempt import FIRST_NOTE_SECONDS, NOTE_EVERY_SECONDS, Attempt, End, note_key

Done = TypeVar("Done")


class TaskNotes:
    """The notes of one task. ``due_at`` is when the next one is due, in seconds since 1970.

    ``cursor`` is how many entries of the shard were settled before this task.
    """

    def __init__(
        self, phase: str, shard_id: str, ledger: Ledger, nonce: str, now: Callable[[], float], cursor: int = 0
    ) -> None:
        self._phase, self._ledger, self._now, self._before = phase, ledger, now, cursor
        self._begun = Attempt(shard_id, nonce, now())
        self.due_at = self._begun.began + FIRST_NOTE_SECONDS
        self._written = False

    def write(self, worked: Count, failures: Mapping[str, int]) -> None:
        """Note what this task has worked on so far, whether it is due or not."""
        now = self._now()
        self.due_at = now + (NOTE_EVERY_SECONDS if self._written else FIRST_NOTE_SECONDS)
        self._written = True
        cursor = self._before + worked.entries
        begun = self._begun
        note = Attempt(
            begun.shard_id, begun.nonce, begun.began, now, worked.entries, worked.bytes, cursor, End.AT_WORK, failures
        )
        with suppress(FanoutError):  # the work is worth more than a note of it
            self._ledger.mark(note_key(self._phase, note))

    def end(self, worked: Count) -> None:
        """Note the end of a task that no attempt's record tells of, if it has left a note before."""
        if self._written:
            self.write(worked, {})

    def along(
        self, done: Iterable[tuple[int, Done]], size_of: Callable[[Done], int], size: int = 0
    ) -> Iterator[tuple[int, Done]]:
        """Pass on what is done, and note it when it is time to; ``size`` bytes were worked on before."""
        entries = 0
        for index, one in done:
            entries, size = entries + 1, size + size_of(one)
            if self._now() >= self.due_at:
                self.write(Count(entries, size), {})
            yield index, one


def failures_of(outcomes: Iterable[Outcome]) -> Counter[str]:
    """The entries that failed or were rejected, by the names of their reasons."""
    return Counter(one.reason.name for one in outcomes if one.reason is not None and one.result in TROUBLE)
