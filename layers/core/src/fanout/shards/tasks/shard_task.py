"""The frame of a task that works on a shard: its plan, its limits, what is left, its notes, and its progress.

What becomes of a task that got nothing done, in this order:

| of what was left                                       | the task                                        |
|--------------------------------------------------------|-------------------------------------------------|
| entries failed for reasons that may pass               | fails (``Transient``), and is tried again       |
| an entry took all of the time, with no rate to blame   | fails that entry: no task has more time for it  |
| a rate or the window held all of it back               | ends well, and leaves it to the next task       |
| nothing was begun in time                              | fails (``Transient``), and is tried again       |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from fanout.facts import tuning
from fanout.model.books import Count
from fanout.model.entry import Entry
from fanout.model.errors import Transient
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.tasks.attempts import TaskNotes, TaskProgress
from fanout.work.context import Context
from fanout.work.parallel import work_on

Item = TypeVar("Item")
Done = TypeVar("Done")
Numbered = list[tuple[int, Item]]


class Tried(Protocol):
    """The result of an entry that was tried: an outcome, a receipt, or what was read of it."""

    @property
    def reason(self) -> Reason | None:
        """Why it could not be done; ``None`` where it was."""

    @property
    def message(self) -> str:
        """The reason in detail."""


def nothing_done(
    said: str, context: Context, passing: Sequence[Tried] = (), cut_off: Iterable[tuple[int, Entry]] = ()
) -> Numbered[Entry]:
    """Decide by the table above; returns the entries that fail because no task has the time for them.

    ``said`` is the sentence for people, as "none of 5 entries could be copied". ``passing`` failed for reasons that
    may pass, ``cut_off`` was begun and not done in time.
    """
    if passing:
        raise Transient(f"{said}, and {len(passing):,} failed: {passing[0].message}")
    late = [(index, entry) for index, entry in cut_off if not context.leaves(entry.size)]
    if not late and not context.is_held_back:
        raise Transient(f"{said} in time")
    return late


def too_large(entry: Entry, does: str) -> str:
    """The message of an entry that no task has the time for: "copies", "reads"."""
    return f"{entry.size} bytes are more than one function {does} in its time"


class ShardTask:
    """One task on a shard. ``context`` ends when the run does; ``settled`` of the shard's items were done before.

    ``did`` is what it does with each, as "copied". Raises ``OutOfTime`` and ``OutOfBudget`` where the run is over its
    limits.
    """

    def __init__(self, phase: str, did: str, shard: Shard, context: Context, plan: Plan | None = None) -> None:
        self.shard, self.ledger = shard, context.ledger
        self.plan = context.ledger.read_plan() if plan is None else plan
        self.context = context.within(self.plan)
        self.limiter = context.limiter
        self.deadline = self.context.deadline()
        self.settled = self.total = 0
        self._phase = phase
        self._did = f"{'entries' if shard.blocks is None else 'blocks'} could be {did}"

    def left(self, items: Iterable[tuple[int, Item]], settled: Collection[int]) -> Numbered[Item]:
        """The items of the shard, with their indexes, that are not settled."""
        known = list(items)
        self.settled, self.total = len(settled), len(known)
        return [(index, item) for index, item in known if index not in settled]

    def notes(self, more: int = 0) -> TaskNotes:
        """The notes of the task's progress from now on; so many ``more`` items are done, and not yet settled."""
        context, cursor = self.context, self.settled + more
        return TaskNotes(self._phase, self.shard.id, self.ledger, context.nonce, context.clock.now, cursor)

    def admit(self) -> bool:
        """Wait until the rates of the run let one more entry begin; whether there is time."""
        return self.limiter.admit(self.deadline)

    def done_along(
        self,
        left: Numbered[Item],
        work: Callable[[Item], Done],
        size_of: Callable[[Done], int],
        cut_off: Numbered[Item],
    ) -> Iterator[tuple[int, Done]]:
        """Work on what is left as ``work_on``, within the rates of the run, and note the progress."""
        threads = min(tuning.CLIENT_OPERATIONS_IN_FLIGHT, len(left)) or 1
        return self.notes().along(work_on(left, work, threads, self.deadline, cut_off, self.admit), size_of)

    def too_late(
        self, left: int, found: Mapping[int, Tried], cut_off: Iterable[tuple[int, Entry]] = ()
    ) -> Numbered[Entry]:
        """``nothing_done``, if that is so: ``found`` holds all that was tried."""
        passing = [one for one in found.values() if one.reason is Reason.TRANSIENT]
        if not left or len(found) > len(passing):
            return []
        return nothing_done(f"none of {left:,} {self._did}", self.context, passing, cut_off)

    def progress(self, done: int, worked: Count = Count(), failures: Mapping[str, int] | None = None) -> TaskProgress:  # noqa: B008
        """The progress of the shard after so many more."""
        total = self.settled + done
        return TaskProgress(total, total >= self.total, worked, failures or {})
