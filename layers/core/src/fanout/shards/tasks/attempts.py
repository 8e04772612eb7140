"""Noting in the ledger that a task works on a shard, and how its work ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.errors import FanoutError, Throttled
from fanout.model.shard import Shard
from fanout.shards.tasks.attempt import Attempt, End, attempt_from_key, attempt_key, attempts_prefix
from fanout.work.context import Context
from fanout.work.rates.run_limits import minute_of


class Progress(Struct, frozen=True):
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


def noted(phase: str, shard: Shard, context: Context, work: Callable[[], Progress]) -> Json:
    """Do the work between two records of it; returns ``cursor`` and ``done``, as the state machine wants them."""
    begun = Attempt(shard.id, context.nonce, context.clock.now())
    _write(phase, begun, context)
    try:
        progress = work()
    except FanoutError as error:
        with suppress(FanoutError):  # the task's own error says more than one of its record
            if isinstance(error, Throttled):
                note_throttling(context)
            _write(phase, replace(begun, ended=context.clock.now(), end=End.FAILED), context)
        raise
    ended = replace(
        begun,
        ended=context.clock.now(),
        entries=progress.worked.entries,
        bytes=progress.worked.bytes,
        cursor=progress.cursor,
        end=End.DONE if progress.done else End.HANDED_BACK,
        failures=progress.failures,
    )
    _write(phase, ended, context)
    return progress.answer


def note_throttling(context: Context) -> None:
    """Note that this task was throttled, for PaceCopy."""
    minute = minute_of(context.clock.now())
    context.ledger.whole_run().mark(f"{keys.THROTTLED}{minute:010d}/{context.nonce}")


def _write(phase: str, attempt: Attempt, context: Context) -> None:
    context.ledger.mark(attempt_key(phase, attempt))


def attempts_by_shard(phase: str, ledger: Ledger) -> Iterator[tuple[str, list[Attempt]]]:
    """The attempts of each shard in the order of their begin; holds those of one shard."""
    found = (attempt_from_key(key) for key in ledger.keys(attempts_prefix(phase)))
    for shard_id, attempts in groupby(found, key=lambda attempt: attempt.shard_id):
        latest = {attempt.nonce: attempt for attempt in attempts}  # the record of the end follows that of the begin
        yield shard_id, sorted(latest.values(), key=lambda attempt: (attempt.began, attempt.nonce))
