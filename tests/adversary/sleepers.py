"""Functions that freeze, are taken for lost, and wake up while their run goes on: each in a thread that takes turns.

Only one thread works at any time, so a seed ends the same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from threading import Semaphore, Thread
from typing import Any

from msgspec.structs import replace

from fanout.flow.walker import StateFailed
from fanout.model.errors import FanoutError
from tests.adversary.conductor import AtWork, Conductor, Killed
from tests.adversary.deeds import soon
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, STAGING, Act, Change, Fault, Spec


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


def half_made(draw: Random, direction: str, source: tuple[Spec, ...], acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """The acts with a function that freezes between making the staging directory and noting it, now and then.

    It wakes up after another attempt at its task, or, in a run that was stopped, after a later run. The source changes
    before that one and after it, so whatever the late function still copies is seen.
    """
    chance, tasks, is_stopped = draw.random(), soon(draw, 30), draw.random() < 0.5
    files = [spec.path for spec in source if spec.kind == "file"] or ["f0"]
    path, changed = draw.choice(files), draw.randrange(1, 10**6)
    anew = [Act("change", change=Change("rewrite-now", path, changed + number)) for number in range(2)]
    wait = Act("wait", seconds=draw.randint(5, 30))
    kind = draw.choice(("os:mkdir", "os:mkdir", "check/ledger:put", "check/ledger:put_new", "check/os:stat"))
    if chance > 0.08 or acts[0].what != "run" or direction in (MOUNT_TO_S3, INSIDE_S3):
        return acts
    first = acts[0]
    fault = Fault(kind, 1, "oversleep", seed=tasks)
    if kind == "os:mkdir":
        fault = replace(fault, after=True, times=100, path=f"{STAGING}{first.run}")
    if is_stopped:
        fault = replace(fault, what="freeze", acts=(wait, anew[0], wait, Act("run", "z"), wait, anew[1]))
    others = () if is_stopped else first.faults  # with others few runs come to where it wakes up
    return (replace(first, faults=(*others, fault)), *acts[1:])
