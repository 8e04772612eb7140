"""A task that deletes at an end asks again and again whether its run has its turn at the other one."""

from __future__ import annotations

import pytest

from fanout.model.errors import Superseded
from fanout.model.location import Location
from fanout.ports.turns import Turn
from fanout.request.plan import Plan
from fanout.turns.turn_watch import LOOK_SECONDS, TurnWatch
from tests.support.flow import World
from tests.support.publishing import Fenced
from tests.turns.test_writers import plan


class Asked(Fenced):
    """Turns that a later run takes."""

    def __init__(self) -> None:
        super().__init__(Turn())
        self.ends: list[Location] = []
        self.is_taken = False

    def ask(self, plan: Plan, end: Location) -> None:
        """See ``ports.turns.Turns``."""
        self.ends.append(end)
        if self.is_taken:
            raise Superseded(plan.run_id)


def test_it_asks_at_most_four_times_a_second_and_at_once_after_a_pause() -> None:
    turns, world = Asked(), World()
    world.turns = turns  # type: ignore[assignment]
    moving = plan("run-1")
    watch = TurnWatch(moving, moving.request.destination, world.context())
    for _ in range(9):
        watch.look()
    assert turns.ends == [moving.request.destination]
    world.clock.time += LOOK_SECONDS
    turns.is_taken = True
    with pytest.raises(Superseded):
        watch.look()
    with pytest.raises(Superseded):
        watch.look()
    assert len(turns.ends) == 3
