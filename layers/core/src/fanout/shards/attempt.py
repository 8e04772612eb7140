"""Attempts: the tasks that worked on a shard, one record each when it begins and one when it ends.

All that a record holds stands in its key, so that SummariseTransfer lists a thousand of
them with one request instead of reading each.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

ATTEMPTS = "attempts/"


class End(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    HANDED_BACK = "left"
    FAILED = "failed"
    LOST = "lost"  # it began, and nothing tells its end: killed, timed out, or still at work


class Attempt(Struct, frozen=True):
    """One task's work on one shard.

    Times are seconds since 1970; ``entries`` and ``bytes`` were copied (or compared)
    by this attempt alone, ``cursor`` is how many of the shard have an outcome at its end.
    """

    shard_id: str
    nonce: str
    began: float
    ended: float | None = None
    entries: int = 0
    bytes: int = 0
    cursor: int = 0
    end: End = End.LOST

    @property
    def seconds(self) -> float:
        """How long it took; 0 for one whose end is not known."""
        return 0.0 if self.ended is None else max(0.0, self.ended - self.began)


def attempts_prefix(phase: str) -> str:
    """Where the attempts of a phase lie: ``copy`` or ``verify``."""
    return f"{ATTEMPTS}{phase}/"


def attempt_key(phase: str, attempt: Attempt) -> str:
    """The key of an attempt's record; that of its end sorts right after that of its begin."""
    begun = f"{attempts_prefix(phase)}{attempt.shard_id}/{attempt.nonce}-{_milliseconds(attempt.began)}"
    if attempt.ended is None:
        return begun
    counts = f"{attempt.entries}-{attempt.bytes}-{attempt.cursor}"
    return f"{begun}-{_milliseconds(attempt.ended)}-{counts}-{attempt.end.value}"


def attempt_from_key(key: str) -> Attempt:
    """The attempt of a record's key."""
    _, _, shard_id, name = key.split("/")
    nonce, began, *rest = name.split("-")
    begun = Attempt(shard_id, nonce, int(began) / 1000)
    if not rest:
        return begun
    ended, entries, size, cursor, end = rest
    return replace(
        begun, ended=int(ended) / 1000, entries=int(entries), bytes=int(size), cursor=int(cursor), end=End(end)
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
