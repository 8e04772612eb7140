"""Whose turn it is to write: a run is entered in the list of its destination before it writes, and taken out after.

The list is one object a store (a bucket or a mount), changed by conditional writes alone, so of two runs that come
at once one sees the other. A run that was stopped or broke down never takes itself out; whether one goes on is
therefore asked of Step Functions, and who does not is taken out by the next one that comes.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from fanout.domain.errors import DestinationBusy, PreconditionFailed, Transient
from fanout.domain.plan import Plan
from fanout.domain.writers import (
    Meeting,
    Writer,
    list_key,
    meeting,
    writer_of,
    writers_bytes,
    writers_from_bytes,
)
from fanout.ports import Clock, Executions, VersionedStore

# Chosen: each attempt that fails is another run's that succeeded.
ATTEMPTS = 50
PAUSE_SECONDS = 0.05
# Chosen: of those that are in nobody's way, so many of the oldest are asked about, so that the lost ones go in time.
OLDEST_ASKED = 5


class WriteTurns(Struct, frozen=True):
    """The lists in the work bucket."""

    store: VersionedStore
    executions: Executions
    clock: Clock

    def take(self, plan: Plan, execution: str) -> Writer | None:
        """Enter a run that writes; returns the run of the same transfer that goes on already, if one does.

        Raises ``DestinationBusy`` where another run that goes on has to end before.
        """
        if not plan.request.mode.writes:
            return None
        key, mine = list_key(plan.request), writer_of(plan, execution, self.clock.now())
        goes_on = cache(self.executions.running)
        for number in range(ATTEMPTS):
            found = self.store.read_version(key)
            stored = writers_from_bytes(found.data)
            others = [one for one in stored if one.run_id != mine.run_id]
            in_the_way = [one for one in others if meeting(mine, one) is not Meeting.APART]
            ended = {one for one in [*in_the_way, *others[:OLDEST_ASKED]] if not goes_on(one.execution)}
            for other in in_the_way:
                if other not in ended:
                    return _give_way(plan, mine, other)
            left = [one for one in others if one not in ended]
            if self._written(key, [*left, mine], found.version, number):
                return None
        raise Transient(f"{key} was changed by others {ATTEMPTS} times")

    def release(self, plan: Plan) -> None:
        """Take a run out that has ended; one that is not in the list stays out."""
        if not plan.request.mode.writes:
            return
        key = list_key(plan.request)
        for number in range(ATTEMPTS):
            found = self.store.read_version(key)
            stored = writers_from_bytes(found.data)
            left = [one for one in stored if one.run_id != plan.run_id]
            if len(left) == len(stored) or self._written(key, left, found.version, number):
                return
        raise Transient(f"{key} was changed by others {ATTEMPTS} times")

    def _written(self, key: str, writers: list[Writer], version: str, number: int) -> bool:
        try:
            self.store.write_version(key, writers_bytes(writers), version)
        except PreconditionFailed:
            self.clock.sleep(PAUSE_SECONDS * min(number, 10))
            return False
        return True


def _give_way(plan: Plan, mine: Writer, other: Writer) -> Writer:
    if meeting(mine, other) is Meeting.SAME:
        return other
    raise DestinationBusy(str(plan.request.destination), other.run_id, other.mode)
