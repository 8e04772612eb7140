"""Noting in the ledger that a task works on a shard, and how its work ended.

Notes a task's progress while it works, for people who watch the run.

No state and no summary reads a note: outcomes record the work of a task. So a note that cannot be written
is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import FanoutError, Throttled
from fanout.model.outcome import TROUBLE
from fanout.model.shard import Shard
from fanout.shards.tasks.attempt import (
    FIRST_NOTE_SECONDS,
    NOTE_EVERY_SECONDS,
    Attempt,
    AttemptEnd,
    attempt_from_key,
    attempt_key,
    attempts_prefix,
    note_key,
    throttled_key,
)
from fanout.work.context import Context
from fanout.work.rates.run_limits import minute_of

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
            begun.shard_id,
            begun.nonce,
            begun.began,
            now,
            worked.entries,
            worked.bytes,
            cursor,
            AttemptEnd.AT_WORK,
            failures,
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


class TaskProgress(Struct, frozen=True):
    """The progress of a shard after a task: ``cursor`` outcomes in all, ``worked`` of them by this task alone.

    ``failures`` counts the entries that this task could not copy by the names of their ``Reason``.
    """

    cursor: int
    done: bool
    worked: Count
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def answer(self) -> Json:
        """It as the state machine wants it."""
        return {"cursor": self.cursor, "done": self.done}


def noted(phase: str, shard: Shard, context: Context, work: Callable[[], TaskProgress]) -> Json:
    """Do the work between two records of it; returns ``cursor`` and ``done``, as the state machine wants them."""
    begun = Attempt(shard.id, context.nonce, context.clock.now())
    _write(phase, begun, context)
    try:
        progress = work()
    except FanoutError as error:
        with suppress(FanoutError):  # the task's own error says more than one of its record
            if isinstance(error, Throttled):
                note_throttling(context)
            _write(phase, replace(begun, ended=context.clock.now(), end=AttemptEnd.FAILED), context)
        raise
    ended = replace(
        begun,
        ended=context.clock.now(),
        entries=progress.worked.entries,
        bytes=progress.worked.bytes,
        cursor=progress.cursor,
        end=AttemptEnd.DONE if progress.done else AttemptEnd.HANDED_BACK,
        failures=progress.failures,
    )
    _write(phase, ended, context)
    return progress.answer


def note_throttling(context: Context) -> None:
    """Note that this task was throttled, for PaceCopy."""
    minute = minute_of(context.clock.now())
    context.ledger.whole_run().mark(throttled_key(minute, context.nonce))


def _write(phase: str, attempt: Attempt, context: Context) -> None:
    context.ledger.mark(attempt_key(phase, attempt))


def attempts_by_shard(phase: str, ledger: Ledger) -> Iterator[tuple[str, list[Attempt]]]:
    """The attempts of each shard in the order of their begin; holds those of one shard."""
    found = (attempt_from_key(key) for key in ledger.keys(attempts_prefix(phase)))
    for shard_id, attempts in groupby(found, key=lambda attempt: attempt.shard_id):
        latest = {attempt.nonce: attempt for attempt in attempts}  # the record of the end follows that of the begin
        yield shard_id, sorted(latest.values(), key=lambda attempt: (attempt.began, attempt.nonce))
