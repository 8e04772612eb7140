"""How far the restoring of a run is, in its ledger."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.shard import Shard
from fanout.shards.partitioned import MapItem

# The shards to copy before anything is restored, and how far each look at the others came.
COPIES_AT_ONCE = "restores/copies-at-once.json"
_RESTORES = "restores/"
_STANDS = "restores/stand-"


def copies_key(at: float, nonce: str) -> str:
    """Shards that are restored: what one more Map copies."""
    return f"{_RESTORES}copies-{round(at * 1000):015d}-{nonce}.json"


def stand_key(at: float, nonce: str) -> str:
    """How far the restoring is after one task; later ones sort after it."""
    return f"{_STANDS}{round(at * 1000):015d}-{nonce}.json"


def write_copies_at_once(shards: Sequence[Shard], ledger: Ledger) -> tuple[str, int]:
    """The key of the shards that the first Map copies, and how many others wait until they are restored."""
    at_once = [shard for shard in shards if not shard.archive]
    if len(at_once) == len(shards):
        return keys.SHARDS, 0
    ledger.write_documents(COPIES_AT_ONCE, map(MapItem, at_once))
    return COPIES_AT_ONCE, len(shards) - len(at_once)


class RestoreStand(Struct, frozen=True, kw_only=True):
    """How far the restoring is after a task, which writes it under a name of its own and hands the name on.

    ``left`` are the shards that no Map was given yet; ``cursor`` of them were visited in this ``round``, the first of
    which asks, and ``ready`` can be copied. ``asked`` are entries and bytes by archive that S3 took requests for,
    ``refused`` entries that have an outcome instead, ``missed`` those that S3 could not take in this round: the next
    one ``asks`` again, and looks at every entry for that. ``waiting`` is what is left in the archives, asked for by
    ``asked_at``. The wait ends at ``ends_at`` at the latest.
    """

    at: float
    round: int
    cursor: int
    left: list[str]
    ready: list[str]
    asked: dict[str, Count]
    refused: int
    missed: int
    asks: bool = True
    waiting: Count
    asked_at: float
    expected_at: float
    ends_at: float


def last_stand(ledger: Ledger) -> RestoreStand | None:
    """The newest stand of the run, for people and for the count of dollars."""
    names = list(ledger.keys(_STANDS))
    return ledger.read(names[-1], RestoreStand) if names else None


def restores_asked(ledger: Ledger) -> dict[str, Count]:
    """Entries and bytes by archive that the run had S3 restore."""
    stand = last_stand(ledger)
    return {} if stand is None else stand.asked
