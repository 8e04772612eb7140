"""The archives that shards lie in: what can be restored from them, in what time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from fanout.facts import archives
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
