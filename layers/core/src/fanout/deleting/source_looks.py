"""Between two mounts: extras are looked for at the source by a function there, before another one deletes them.

| | is looked at by | before | counts for |
|---|---|---|---|
| files, symlinks | LookAtSource, by shard | each DeleteShard | ``LOOK_SECONDS``; then they are looked at again |
| directories | LookAtDirectories, all | RemoveDirectories | ``DIRECTORY_LOOK_SECONDS``: only an empty directory goes |
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from fanout.deleting.deletions import deleted_directories
from fanout.deleting.missing_at_source import LookAtSource, look_at_source
from fanout.facts import tuning
from fanout.ledger.documents import Range, indexes_of, ranges_of
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.shards.tasks.outcome_writer import settled_indexes
from fanout.shards.tasks.shard_task import nothing_done
from fanout.work.context import Context
from fanout.work.parallel import always, work_on

# Chosen: as long as a function may take. A sync within one mount looks and deletes in one function.
LOOK_SECONDS = 900.0
# Chosen: longer than several functions look for very many directories; shorter than most pauses of a window.
DIRECTORY_LOOK_SECONDS = 3600.0


class KeptExtra(Struct, frozen=True):
    """An extra that stays: its place in the shard, and why."""

    index: int
    reason: Reason
    message: str


class SourceLooks(Struct, frozen=True):
    """The extras of a shard that were looked for at the source, and those that stay; ``at`` is when it began."""

    at: float
    looked: list[Range]
    kept: list[KeptExtra]


source_looks_key = ObjectKind(
    "deletions/looks/{shard_id}.json", SourceLooks, by=("DeleteShard", "RemoveDirectories"), short=False
)


def look_at_shard(shard: Shard, context: Context) -> Json:
    """Look for the extras of a shard that have no outcome at the source; returns ``cursor``, how many it looked for.

    Raises ``Transient`` if it looked for none, and the errors of ``check`` if the source is not there any more.
    """
    plan = context.ledger.read_plan()
    context = context.within(plan)
    look = look_at_source(context.source(plan), plan, context.ledger)
    deadline = context.deadline()
    return {"cursor": _look_at(shard, look, context, deadline, lambda: context.limiter.admit(deadline)), "done": False}


def none_looked_at(shard: Shard, context: Context) -> Json:
    """Note that none of a shard's extras was looked for, so that DeleteShard deletes none; as ``look_at_shard``."""
    context.ledger.write(source_looks_key(shard.id), SourceLooks(context.clock.now(), [], []))
    return {"cursor": 0, "done": False}


def look_at_directories(context: Context) -> Json:
    """Look for the extra directories at the source; returns ``cursor``, how many shards are looked at, and ``done``.

    Raises ``Transient`` if the time ended before a shard was looked at, and the errors of ``check``.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    look, deadline = look_at_source(context.source(plan), plan, ledger), context.deadline()
    shards = [one.shard for one in deleted_directories(ledger)]
    left = [shard for shard in shards if not _is_whole(shard, ledger, context.clock.now())]
    looked = 0
    for shard in left:
        if deadline.passed:
            break
        _look_at(shard, look, context, deadline, always)
        looked += _is_whole(shard, ledger, context.clock.now())
    if left and not looked:
        nothing_done("none of the shards of directories could be looked for at the source", context)
    return {"cursor": len(shards) - len(left) + looked, "done": looked == len(left)}


def looked_at(shard: Shard, left: list[tuple[int, Entry]], now: float, ledger: Ledger) -> list[tuple[int, Entry]]:
    """Those of the entries that a function at the source looked for in the last ``LOOK_SECONDS``."""
    looks = ledger.read(source_looks_key(shard.id))
    if now - looks.at > LOOK_SECONDS:
        return []
    looked = indexes_of(looks.looked)
    return [(index, entry) for index, entry in left if index in looked]


def noted_look(shard: Shard, entries: list[Entry], ledger: Ledger) -> LookAtSource:
    """A look at what the function at the source noted of a shard's ``entries``; one without a note stays."""
    looks = ledger.read(source_looks_key(shard.id))
    found: dict[str, ItemError | None] = {entries[index].path: None for index in indexes_of(looks.looked)}
    for kept in looks.kept:
        found[entries[kept.index].path] = ItemError(kept.reason, kept.message)
    unclear = ItemError(Reason.TRANSIENT, "the source was not looked at")
    return lambda entry: found.get(entry.path, unclear)


def _is_whole(shard: Shard, ledger: Ledger, now: float) -> bool:
    """Whether all directories of a shard that have no outcome were looked for, and not long ago."""
    looks = ledger.find(source_looks_key(shard.id))
    if looks is None or now - looks.at > DIRECTORY_LOOK_SECONDS:
        return False
    return len(indexes_of(looks.looked) | settled_indexes(shard, ledger)) >= shard.entries


def _look_at(shard: Shard, look: LookAtSource, context: Context, deadline: Deadline, admit: Callable[[], bool]) -> int:
    """Look for what has no outcome, and note it; returns how many."""
    ledger, at = context.ledger, context.clock.now()
    settled = settled_indexes(shard, ledger)
    left = [(index, entry) for index, entry in enumerate(ledger.read_shard(shard)) if index not in settled]
    threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, len(left)) or 1
    found = dict(work_on(left, look, threads, deadline, [], admit))
    if left and not found:
        nothing_done(f"none of {len(left):,} entries could be looked for at the source", context)
    kept = [
        KeptExtra(index, problem.reason, problem.message) for index, problem in found.items() if problem is not None
    ]
    ledger.write(source_looks_key(shard.id), SourceLooks(at, ranges_of(found), kept))
    return len(found)
