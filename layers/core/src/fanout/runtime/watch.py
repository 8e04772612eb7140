"""The watch of a function: it ends a task that shows no progress, whatever hangs.

| what hangs                                       | how the task ends                                                 |
|--------------------------------------------------|-------------------------------------------------------------------|
| a process of the function                        | ``Stalled`` in the main thread, which kills it (``processes``)    |
| a thread, or a wait for one                      | a signal raises ``Stalled`` in the main thread: the handler says  |
|                                                  | so by name, and the process takes no other task                   |
| the main thread, in a call that does not return; | this thread answers for the handler by name, kills the processes  |
| or it waits again for what hangs while it ends   | of the function, and exits                                        |
| a call that holds the interpreter's lock         | a thread of ``faulthandler``, which needs no lock, exits          |

All of these are retried as a function that was lost. Before each, the stacks of all threads go to the log; they name
code and no entry.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from fanout.adapters.posix.probe.writeback import writes_answered
from fanout.facts import tuning
from fanout.model.errors import Stalled
from fanout.runtime.last_words import answer_for_handler, end_processes_below, has_runtime, processes_below
from fanout.work.progress import Patience, shown

# One that nothing of the product and no library uses, sent by this process to itself.
_SIGNAL = signal.SIGUSR1
_STANDARD_ERROR = 2
# Chosen: the main thread is interrupted so often, as each wait on its way out may be for what hangs.
_INTERRUPTIONS = 3
# Chosen: an interrupted task that shows progress all the same has so long to end.
_END_SECONDS = 60.0
# Chosen: what the watch needs the interpreter for takes no longer, on however busy a machine.
_UNHEARD_SECONDS = 2 * tuning.STALL_SECONDS
_LOOKS_AN_ALARM = 10
# Chosen: of the functions in the template the shortest has twice as long.
_LEAST_SECONDS = 60.0
_QUEUED_NANOSECONDS = 1


class WatchedTask(NamedTuple):
    """The task at work: its fields in the log, its request, and the seconds after which it has stalled."""

    named: Mapping[str, str]
    request_id: str
    stall_seconds: float


def stall_seconds_of(remaining_seconds: float) -> float:
    """For a function that has so long: it ends by name before it is ended."""
    return min(tuning.STALL_SECONDS, max(_LEAST_SECONDS, remaining_seconds / 2))


class TaskWatch:
    """Watches one task in a thread. ``stalled`` is whether it ever had to interrupt it."""

    def __init__(
        self,
        task: WatchedTask,
        interrupt: Callable[[], None],
        end: Callable[[Stalled], NoReturn],
        *,
        look_seconds: float = tuning.STALL_LOOK_SECONDS,
        grace_seconds: float = tuning.STALL_GRACE_SECONDS,
        wait: Callable[[float], bool] | None = None,
        busy_seconds: Callable[[], float] = lambda: 0.0,
        progress: Callable[[], bytes] = shown,
    ) -> None:
        """``wait`` waits for the end of the task, so many seconds; ``busy_seconds`` are those since it was called last.

        ``interrupt`` raises ``Stalled`` in the task; ``end`` ends the process.
        """
        self.task, self.stalled = task, False
        self.error = Stalled(task.named["state"], 0.0, "")
        self._interrupt, self._end = interrupt, end
        self._look_seconds, self._grace_seconds = look_seconds, grace_seconds
        self._busy_seconds, self._progress = busy_seconds, progress
        self._over = threading.Event()
        self._wait = wait or self._over.wait
        self._sending = threading.Lock()
        self._looks = 0

    def run(self) -> None:
        """Look until the task is over, or end it."""
        if not self._stalls(self.task.stall_seconds):
            return
        self.stalled = True
        _report(self.task, self.error)
        for _ in range(_INTERRUPTIONS):
            with self._sending:
                if not self._over.is_set():
                    self._interrupt()
            if not self._stalls(self._grace_seconds, _END_SECONDS):
                return
        self._end(self.error)

    def raise_in_task(self, _signal: int, _frame: FrameType | None) -> None:
        """The handler of the signal."""
        if not self._over.is_set():
            raise self.error

    def close(self) -> None:
        """The task is over: nothing interrupts it any more."""
        with self._sending:
            self._over.set()
        faulthandler.cancel_dump_traceback_later()

    def _stalls(self, seconds: float, most_seconds: float = float("inf")) -> bool:
        """Whether the task shows nothing for so many seconds, or goes on for the most; false when it is over."""
        patience, left = Patience(seconds, self._progress), most_seconds
        while not self._wait(self._look_seconds):
            self._looks += 1
            if self._looks % _LOOKS_AN_ALARM == 0:
                self.set_alarm()
            left -= self._look_seconds
            if patience.look(self._look_seconds, self._busy_seconds()) or left <= 0:
                if not self.stalled:
                    self.error = Stalled(self.task.named["state"], patience.seconds, patience.last)
                return True
        return False

    def set_alarm(self) -> None:
        """Exit without the interpreter's lock, unless it is set again."""
        with self._sending:
            if not self._over.is_set():
                faulthandler.dump_traceback_later(_UNHEARD_SECONDS, exit=True, file=_STANDARD_ERROR)


class _Busy:
    """The seconds that this process was at work, or whose main thread waited for a processor."""

    def __init__(self) -> None:
        self._before = self._now()

    def __call__(self) -> float:
        before, self._before = self._before, self._now()
        return self._before - before

    def _now(self) -> float:
        return time.process_time() + _queued_seconds()


def _queued_seconds() -> float:
    """The seconds that the main thread waited for a processor; 0 where the kernel does not say."""
    try:
        with open("/proc/self/schedstat", "rb") as file:
            return int(file.read().split()[_QUEUED_NANOSECONDS]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _shown() -> bytes:
    """The progress of the task, and the writes that file servers answered: closing a large file waits for those."""
    return shown() + writes_answered().to_bytes(8, "little")


_stalled: list[Stalled] = []


def take_no_task_after_a_stall() -> None:
    """Exit if a task stalled in this process: what hung may hang still, or wake up; the next process is a new one."""
    if _stalled and has_runtime():
        os._exit(1)


@contextmanager
def watched(lambda_context: Any, named: dict[str, str]) -> Iterator[dict[str, str]]:
    """Watch what is done inside. Raises ``Stalled`` there, or ends the process.

    ``named`` are fields of the log, which the task may complete; ``state`` is one of them.
    """
    remaining = lambda_context.get_remaining_time_in_millis() / 1000
    task = WatchedTask(named, lambda_context.aws_request_id, stall_seconds_of(remaining))
    is_main = threading.current_thread() is threading.main_thread()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        if is_main:
            signal.pthread_kill(main, _SIGNAL)

    watch = TaskWatch(task, interrupt, lambda error: _exit(task, error), busy_seconds=_Busy(), progress=_shown)
    before = signal.signal(_SIGNAL, watch.raise_in_task) if is_main else None
    # Not threading's, which is awaited at the end of a process: it ends with the task.
    start_new_thread(watch.run, ())
    watch.set_alarm()
    try:
        yield named
    finally:
        watch.close()
        if is_main:
            signal.signal(_SIGNAL, before)
        if watch.stalled:
            _stalled.append(watch.error)


def _exit(task: WatchedTask, error: Stalled) -> NoReturn:
    """Answer for the handler, which does not, and end this process and those below it; waits for none of them."""
    try:
        _report(task, error, "task_ended_by_watch")
        answer_for_handler(task.request_id, error)
        end_processes_below()
    finally:
        os._exit(1)


def _report(task: WatchedTask, error: Stalled, message: str = "task_stalled") -> None:
    """A line of the log, and the stacks. Past the logger: a thread that hangs may hold its lock."""
    found = {"request_id": task.request_id, "error_message": str(error), "processes": processes_below()}
    os.write(
        _STANDARD_ERROR, json.dumps({"level": "ERROR", "message": message, **task.named, **found}).encode() + b"\n"
    )
    faulthandler.dump_traceback(file=_STANDARD_ERROR, all_threads=True)
