"""Archived entries in shards: how long S3 takes to restore them, and how far that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from fanout.facts import archives
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry import Entry
from fanout.model.shard import Shard
from fanout.request.parts.restore import Restore, Tier


def not_restorable(archive: str, restore: Restore) -> str:
    """Why objects of an archive cannot be restored as the request says; empty where they can."""
    if restore.tier.value in archives.SECONDS.get(archive, {restore.tier.value: 0.0}):
        return ""
    return (
        f"{archive} has no tier {restore.tier.value}; request restore.tier: {Tier.STANDARD.value} or {Tier.BULK.value}"
    )


def seconds_to_restore(archive: str, restore: Restore) -> float:
    """How long S3 takes at most, as it says is typical; 0 for nothing that is restored."""
    return archives.SECONDS.get(archive, {}).get(restore.tier.value, 0.0)


def archived_of(shards: Iterable[Shard], big_file: Callable[[str], Entry]) -> Mapping[str, Count]:
    """Entries and bytes in each archive; ``big_file`` reads the one of a key, which counts once."""
    found: defaultdict[str, Count] = defaultdict(Count)
    seen: set[str] = set()
    for shard in shards:
        if not shard.archive or shard.key in seen:
            continue
        if shard.blocks is None:
            found[shard.archive] += Count(shard.entries, shard.bytes)
        else:
            seen.add(shard.key)
            found[shard.archive] += Count(1, big_file(shard.key).size)
    return dict(found)


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
    names = list(ledger.keys(keys.RESTORE_STANDS))
    return ledger.read(names[-1], RestoreStand) if names else None


def restores_asked(ledger: Ledger) -> dict[str, Count]:
    """Entries and bytes by archive that the run had S3 restore."""
    stand = last_stand(ledger)
    return {} if stand is None else stand.asked
