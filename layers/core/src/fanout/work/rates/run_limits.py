"""The rates that all functions of a run keep to together: limits.json and pacing/rate.json.

The request's rates, which ``fanout limit`` changes, and the pacing's rate are separate files, so that each has one
writer.
"""

from __future__ import annotations

from math import inf
from typing import Annotated

from msgspec import Meta, Struct

from fanout.facts.tuning import LEAST_BYTES_PER_SECOND, LEAST_FILES_PER_SECOND, MOST_PER_SECOND
from fanout.facts.units import MIB
from fanout.ledger import keys
from fanout.ledger.documents import Marker
from fanout.ledger.kind import ObjectKind
from fanout.work.rates.shares import Presence

# Chosen: less a function and it is mostly idle; enough for a file of ``tuning.SPLIT_BYTES`` in a function's time.
LEAST_SHARE_BYTES = 4 * MIB

# Chosen: seconds between two looks of a function at the rates and the other functions, and where there is no rate.
LOOK_SECONDS, IDLE_LOOK_SECONDS = 5.0, 10.0
# A note of a function at work counts for its minute, and a little longer: the next one may be late.
NOTE_SECONDS = 60.0
LATE_NOTE_SECONDS = 20.0


class RunLimits(Struct, frozen=True):
    """limits.json: bytes and files a second of all functions together; ``None`` for no limit.

    An operator may write it during a run, so its numbers are bounded as those of a request; see ``in_force``.
    """

    bytes_per_second: Annotated[float, Meta(ge=LEAST_BYTES_PER_SECOND, le=MOST_PER_SECOND)] | None = None
    files_per_second: Annotated[float, Meta(ge=LEAST_FILES_PER_SECOND, le=MOST_PER_SECOND)] | None = None


# What operators and the pacing write is not sealed: it changes how fast a run is, and nothing else.
LIMITS = ObjectKind("limits.json", RunLimits, by=("PlanTransfer",), sealed=False, early=True)


class PacedRate(Struct, frozen=True):
    """pacing/rate.json: bytes a second, in which each entry counts as ``entry_bytes`` more for its operations."""

    bytes_per_second: Annotated[float, Meta(gt=0, le=MOST_PER_SECOND)] | None = None
    entry_bytes: Annotated[float, Meta(ge=0, le=MOST_PER_SECOND)] = 0.0


PACED_RATE = ObjectKind(
    "pacing/rate.json", PacedRate, by=("PartitionShards", "PaceCopy"), sealed=False, area="pacing/*"
)
# That a function is at work, for those that share the rates with it.
_AT_WORK = ObjectKind(keys.WORKERS + "{phase}/{minute:010d}/{name}", Marker, by=keys.TASKS, sealed=False)


class Cost(Struct, frozen=True):
    """The bytes and files that an operation uses."""

    bytes: float = 0.0
    files: float = 0.0


def buckets(limits: RunLimits, rate: PacedRate) -> dict[str, tuple[float, float]]:
    """Each rate that is in force by its name, with how many functions share it."""
    found: dict[str, tuple[float, float]] = {}
    if limits.bytes_per_second is not None:
        found["bytes"] = (limits.bytes_per_second, functions_for(limits.bytes_per_second))
    if limits.files_per_second is not None:
        found["files"] = (limits.files_per_second, inf)
    if rate.bytes_per_second is not None:
        found["pace"] = (rate.bytes_per_second, functions_for(rate.bytes_per_second))
    return found


def amount(name: str, cost: Cost, rate: PacedRate) -> float:
    """The amount that a cost takes from the rate of that name."""
    return {"bytes": cost.bytes, "files": cost.files, "pace": cost.bytes + cost.files * rate.entry_bytes}[name]


def minute_of(time: float) -> int:
    return int(time // NOTE_SECONDS)


def note_key(phase: str, minute: int, one: Presence) -> ObjectKind[Marker]:
    """The key of a note: all that it says, as those of ``attempts``."""
    begun = f"{one.name}-{round(one.began * 1000)}"
    return _AT_WORK(phase, minute, begun if one.ended == inf else f"{begun}-{round(one.ended * 1000)}")


def notes_prefix(phase: str, minute: int) -> str:
    """Where the notes of a minute lie."""
    return f"{keys.WORKERS}{phase}/{minute:010d}/"


def presence_from_key(key: str) -> Presence:
    """The function of a note. A function that did not note its end counts as gone once its note expires."""
    *_, minute, name = key.split("/")
    nonce, began, *ended = name.split("-")
    expires = (int(minute) + 1) * NOTE_SECONDS + LATE_NOTE_SECONDS
    return Presence(int(began) / 1000, nonce, int(ended[0]) / 1000 if ended else expires)


def latest(found: dict[str, Presence], one: Presence, *, is_end: bool) -> None:
    """Keep what says most of a function: its end, else the note that expires last."""
    known = found.get(one.name)
    if known is None or is_end or one.ended > known.ended:
        found[one.name] = one


def functions_for(bytes_per_second: float) -> int:
    """How many functions share a rate; the others would only wait."""
    return max(1, int(bytes_per_second // LEAST_SHARE_BYTES))
