"""Whole runs that are held to a window, with Wait states that move the clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fanout.flow.steps import STEPS
from fanout.model.document import Json
from fanout.work.context import Context
from tests.support.flow import World

TASKS = 1_000
"""More attempts than any task here takes until it ends."""


class Killed(BaseException):
    """The function ends in the middle of a task; the state machine starts it again."""


def not_done(_context: Context) -> Json:
    """Hands back a task of which nothing is to be noted."""
    return {"done": False}


@dataclass
class WindowedWorld(World):
    """A world whose requests have a ``window``; ``pauses`` are the moments that its tasks named to go on at."""

    window: str = ""
    pauses: list[str] = field(default_factory=list)
    until: str = ""
    at_work: bool = False
    tasks: list[tuple[float, float]] = field(default_factory=list)
    """When each task that was not paused began and ended."""

    def enter(self, state: str) -> None:
        """A state begins; before a Wait state comes the task that says until when."""
        super().enter(state)
        if state.startswith("Wait"):
            self.pauses.append(self.until)

    def task(self, function: str, event: Json) -> Any:
        """A task, and its retries."""
        for _ in range(TASKS):
            began, self.at_work = self.clock.time, True
            try:
                answer = super().task(function, event)
            except Killed:
                continue
            finally:
                self.at_work = False
            self.until = answer.get("until", "")
            if STEPS[event["step"]].hands_back is not None and not self.until:
                self.tasks.append((began, self.clock.time))
            return answer
        raise AssertionError("the task never ends")
