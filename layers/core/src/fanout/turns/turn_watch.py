"""The turn of a run, asked for again while a task deletes: a later run may take it meanwhile."""

from __future__ import annotations

import threading

from fanout.model.location import Location
from fanout.request.plan import Plan
from fanout.work.context import Context

# Chosen: as the fence of a mount, a process asks at most four times a second, whatever it deletes.
LOOK_SECONDS = 0.25


class TurnWatch:
    """The turn of a run at an end that its function does not see."""

    def __init__(self, plan: Plan, end: Location, context: Context) -> None:
        self._plan, self._end, self._context = plan, end, context
        self._looking = threading.Lock()
        self._looked_at = 0.0

    def look(self) -> None:
        """Raise ``Superseded`` where a later run took the turn; asks at most every ``LOOK_SECONDS``."""
        turns, clock = self._context.turns, self._context.clock
        if turns is None:
            return
        with self._looking:  # the other threads wait for the answer
            if clock.now() - self._looked_at < LOOK_SECONDS:
                return
            turns.ask(self._plan, self._end)
            self._looked_at = clock.now()
