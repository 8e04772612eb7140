"""FinishShard: finishes what one shard of a round holds, until it is done or the time is up."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

from msgspec import Struct, to_builtins

from fanout.facts import tuning
from fanout.finishing.assemble_big_files import assemble_big_files
from fanout.finishing.divide import ClosedFile, FinishShard, MadeFile
from fanout.finishing.finish_directories import (
    depth_of,
    read_directories,
    set_directories,
    settable_at_once,
)
from fanout.finishing.link_names import link_names
from fanout.finishing.unset_directories import Unset
from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.errors import Superseded
from fanout.ports.tree import ReadTree
from fanout.shards.made_directories import MadeDirectory
from fanout.shards.proven_places import ProvenPlaces
from fanout.shards.tasks.shard_task import nothing_done
from fanout.turns.withdrawal import had_left, has_left
from fanout.work.context import Context
from fanout.work.parallel import ahead

Group = tuple[MadeFile | ClosedFile, ...]


class FinishProgress(Struct, frozen=True):
    """How far a FinishShard came: groups or files of directories that are set, and closed ones left to a later round.

    Two attempts may write it in any order: what one leaves out is done again, with the same result.
    """

    set: int = 0
    closed: tuple[ClosedFile, ...] = ()
    done: bool = False


finish_progress_key = ObjectKind(
    "finishing/stands/{shard_id}.json", FinishProgress, by=keys.FINISHERS, area="finishing/*"
)


def finish_shard(shard: FinishShard, context: Context) -> Json:
    """Assemble the shard's big files, link its names and set its directories; returns ``done``.

    Raises ``Transient`` if nothing at all could be finished in the time of a task, and ``Superseded``.
    """
    try:
        return {"done": go_on_with(shard, context)}
    except Superseded:
        if not has_left(context.ledger):  # by another attempt at the same time
            raise
        return {"done": True}


def progress_of(shard: FinishShard, ledger: Ledger) -> FinishProgress:
    return ledger.find(finish_progress_key(shard.id)) or FinishProgress()


def go_on_with(shard: FinishShard, context: Context) -> bool:
    """Finish what the ledger does not show as done; whether that is all. Raises ``Transient``, ``Superseded``."""
    ledger = context.ledger
    progress = progress_of(shard, ledger)
    if progress.done or had_left(ledger):
        return True
    plan = ledger.read_plan()
    deadline = context.deadline()
    settled, done = assemble_big_files(context, plan, shard.big_files, deadline, shard.id)
    if done:
        names, done = link_names(plan, context, shard.links, deadline, has_whole_time=not settled)
        settled += names
    if done:
        work = _DirectorySetter(shard, progress, context, context.destination(plan))
        done = work.set_all(deadline)
        settled += work.worked
    if not done and not settled:
        nothing_done("nothing could be finished", context)
    return done


class _DirectorySetter:
    """Sets the directories of a shard and notes from time to time how far it is."""

    def __init__(self, shard: FinishShard, progress: FinishProgress, context: Context, destination: ReadTree) -> None:
        self._shard, self._context, self._destination = shard, context, destination
        self._places = ProvenPlaces(context.ledger)
        self._set, self._closed = progress.set, list(progress.closed)
        self._held: defaultdict[int, list[MadeDirectory]] = defaultdict(list)
        self._failures: list[Unset] = []
        self._noted_at = context.clock.now()
        self._files = 0
        self.worked = 0

    def set_all(self, deadline: Deadline) -> bool:
        """Whether all are set. The closed ones come in the order of the shard, one depth after the other."""
        ledger = self._context.ledger
        groups: list[Group] = [*self._shard.directories, *((file,) for file in self._shard.closed)]
        left = groups[self._set :]
        reading = ahead(lambda group: _read(ledger, group), left, tuning.LEDGER_FILES_AHEAD)
        for number, (group, read) in enumerate(reading, 1):
            made = self._places.complete(read)
            at_once = [one for one in made if isinstance(group[0], ClosedFile) or settable_at_once(one)]
            self._failures += set_directories(self._destination, at_once)
            if isinstance(group[0], MadeFile):
                for one in made:
                    if not settable_at_once(one):
                        self._held[depth_of(one)].append(one)
            self._set += 1
            self.worked += 1
            over = number < len(left) and deadline.passed
            if over or self._context.clock.now() - self._noted_at >= tuning.CHECKPOINT_SECONDS:
                self._note(done=False)
            if over:
                return False
        self._note(done=True)
        return True

    def _note(self, *, done: bool) -> None:
        ledger, nonce, shard_id = self._context.ledger, self._context.nonce, self._shard.id
        for depth, rows in self._held.items():
            key = keys.closed_directories_key(shard_id, nonce, self._files, depth)
            ledger.write_rows(key, map(to_builtins, rows))
            self._closed.append(ClosedFile(key, depth, len(rows)))
        if self._failures:
            key = keys.directory_failures_key(f"{shard_id}-{nonce}-{self._files:04d}")
            ledger.write_rows(key, map(to_builtins, self._failures))
        ledger.write(finish_progress_key(shard_id), FinishProgress(self._set, tuple(self._closed), done))
        self._held.clear()
        self._failures = []
        self._files += 1
        self._noted_at = self._context.clock.now()


def _read(ledger: Ledger, group: Group) -> list[MadeDirectory]:
    """Each directory of the group once, with its newest attributes."""
    rows = chain.from_iterable(read_directories(ledger, file) for file in group)
    return list({(one.path, one.place and one.inode, one.is_taken): one for one in rows}.values())
