"""Attempts: the tasks that worked on a shard, one record each at its begin and one at its end.

The key holds the whole record, so SummariseTransfer lists a thousand records with one request instead of
reading each. A long task also leaves notes in between, for people who watch the run. A note has the same
format, in a key below ``progress/``, where the newest come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger.documents import Marker
from fanout.ledger.keys import PROGRESS, TASKS, THROTTLED
from fanout.ledger.kind import ALONE, ObjectKind
from fanout.model.path_rules import PlainName

ATTEMPTS = "attempts/"
_ATTEMPT = ObjectKind(ATTEMPTS + "{phase}/{shard_id}/{name}", Marker, by=("CopyShard", "VerifyShard"), wave=ALONE)
# For people who watch; no state reads it.
_PROGRESS = ObjectKind(PROGRESS + "{phase}/{age:010d}/{shard_id}/{name}", Marker, by=TASKS, sealed=False)
# That a function was throttled in a minute.
throttled_key = ObjectKind(THROTTLED + "{minute:010d}/{nonce}", Marker, by=TASKS, sealed=False)
# Chosen: seconds after which a task notes its progress first, for the second time, and then regularly. A short task
# leaves no note, and a longer one soon shows a speed.
FIRST_NOTE_SECONDS, NOTE_EVERY_SECONDS = 5.0, 10.0
# Chosen: so many reasons of failures fit into a key, the most frequent ones.
REASONS_NOTED = 8
# Subtracted from, so that later times sort first.
_FAR = 9_999_999_999


class AttemptEnd(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    HANDED_BACK = "left"
    FAILED = "failed"
    AT_WORK = "works"  # a note in between; never an attempt's record
    LOST = "lost"  # it began, and nothing tells its end: killed, timed out, or still at work


class Attempt(Struct, frozen=True):
    """One task's work on one shard.

    Times are seconds since 1970; ``entries`` and ``bytes`` were copied (or compared)
    by this attempt alone. ``cursor`` is the number of the shard's entries with an outcome at the attempt's end.
    ``failures`` counts the entries that this attempt could not copy, by the names of their ``Reason``.
    In a note, ``ended`` is the time of writing.
    """

    shard_id: PlainName
    nonce: PlainName
    began: float
    ended: float | None = None
    entries: int = 0
    bytes: int = 0
    cursor: int = 0
    end: AttemptEnd = AttemptEnd.LOST
    failures: Mapping[str, int] = {}

    @property
    def seconds(self) -> float:
        """How long it took; 0 for one whose end is not known."""
        return 0.0 if self.ended is None else max(0.0, self.ended - self.began)


def attempts_prefix(phase: str) -> str:
    """Where the attempts of a phase lie: ``copy`` or ``verify``."""
    return f"{ATTEMPTS}{phase}/"


def attempt_key(phase: str, attempt: Attempt) -> ObjectKind[Marker]:
    """The key of an attempt's record; that of its end sorts right after that of its begin."""
    name = f"{attempt.nonce}-{_milliseconds(attempt.began)}"
    if attempt.ended is not None:
        name += f"-{_milliseconds(attempt.ended)}-{_figures(attempt)}"
    return _ATTEMPT(phase, attempt.shard_id, name)


def attempt_from_key(key: str) -> Attempt:
    *_, shard_id, name = key.split("/")
    nonce, began, *rest = name.split("-")
    begun = Attempt(shard_id, nonce, int(began) / 1000)
    if not rest:
        return begun
    ended, entries, size, cursor, end, *failures = rest
    return replace(
        begun,
        ended=int(ended) / 1000,
        entries=int(entries),
        bytes=int(size),
        cursor=int(cursor),
        end=AttemptEnd(end),
        failures=dict(_failure(one) for one in failures),
    )


def notes_prefix(phase: str) -> str:
    """Where the notes of a phase lie: ``list``, ``pack``, ``copy`` or ``verify``."""
    return f"{PROGRESS}{phase}/"


def note_key(phase: str, note: Attempt) -> ObjectKind[Marker]:
    """The key of a note, which says how far a task was at ``ended``."""
    assert note.ended is not None
    age = _FAR - int(note.ended // NOTE_EVERY_SECONDS)
    times = f"{_milliseconds(note.began)}-{_milliseconds(note.ended)}"
    return _PROGRESS(phase, age, note.shard_id, f"{note.nonce}-{times}-{_figures(note)}")


def age_of(key: str) -> int:
    """The span of ``NOTE_EVERY_SECONDS`` of a note's key: a later span has a smaller number."""
    return int(key.split("/")[-3])


def _figures(attempt: Attempt) -> str:
    most = sorted(attempt.failures.items(), key=lambda item: (-item[1], item[0]))[:REASONS_NOTED]
    counts = f"{attempt.entries}-{attempt.bytes}-{attempt.cursor}-{attempt.end.value}"
    return "-".join([counts, *(f"{reason}.{count}" for reason, count in most)])


def _failure(text: str) -> tuple[str, int]:
    reason, count = text.split(".")
    return reason, int(count)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
