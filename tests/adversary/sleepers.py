"""Functions that freeze, are taken for lost, and wake up while their run goes on: each in a thread that takes turns.

Only one thread works at any time, so a seed ends the same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Semaphore, Thread
from typing import Any

from fanout.flow.walker import StateFailed
from fanout.model.errors import FanoutError
from tests.adversary.conductor import AtWork, Conductor, Killed


class Sleeper:
    """An attempt that may fall asleep. ``tasks`` of the run are begun before it wakes up."""

    def __init__(self, conductor: Conductor, work: Callable[[], Any]) -> None:
        self._conductor, self._work = conductor, work
        self._mine, self._other = Semaphore(0), Semaphore(0)
        self._attempts = AtWork([])
        self._result: Any = None
        self._error: BaseException | None = None
        self.is_asleep = False
        self.tasks = 0

    def result(self) -> Any:
        """What the work returns or raises; nothing where it fell asleep."""
        self._hand_over(Thread(target=self._run, daemon=True).start)
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - whoever began it gets it
            self._error = error
        self._other.release()

    def fall_asleep(self, tasks: int) -> None:
        """Let the run go on for so many tasks; called by the work."""
        self.is_asleep, self.tasks = True, tasks
        self._other.release()
        self._mine.acquire()

    def wake_up(self) -> None:
        """Go on to the end; nobody waits for the answer, or for an error that a function may end with."""
        self.is_asleep = False
        self._hand_over(self._mine.release)
        if not isinstance(self._error, FanoutError | StateFailed | Killed | None):
            raise self._error

    def _hand_over(self, begin: Callable[[], None]) -> None:
        """Let the work go on until it ends or sleeps; its attempts are at work only meanwhile."""
        conductor, others = self._conductor, self._conductor.change_over(self._attempts)
        begin()
        self._other.acquire()
        self._attempts = conductor.change_over(others)
