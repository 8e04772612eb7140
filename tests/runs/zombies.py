"""Functions that freeze in the middle of their work, in processes of their own, and wake up when they are told to."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Zombie:
    """A process that has stopped; ``wake`` lets it go on to its end."""

    pid: int
    said: int

    def wake(self) -> str:
        """Let it go on; returns the name of the error that it ended with, empty for none."""
        os.kill(self.pid, signal.SIGCONT)
        with os.fdopen(self.said, "rb") as pipe:
            said = pipe.read().decode()
        _, status = os.waitpid(self.pid, 0)
        assert status == 0, f"it ended with {status}"
        return said


def frozen(work: Callable[[], Any], where: Any, name: str) -> Zombie:
    """A process that does the work and stops itself before its first call of ``name`` of an object or module."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _work(work, where, name, writing)
    os.close(writing)
    _, status = os.waitpid(pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it never came to {name}: {status}, {os.read(reading, 10_000).decode()}"
    return Zombie(pid, reading)


def _work(work: Callable[[], Any], where: Any, name: str, writing: int) -> None:
    status = 1
    called = getattr(where, name)
    first = threading.Lock()

    def freezing(*args: Any, **options: Any) -> Any:
        setattr(where, name, called)
        if first.acquire(blocking=False):  # who holds what was called before calls it again
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # to this thread, which goes no step further
        return called(*args, **options)

    try:
        setattr(where, name, freezing)
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the test looks at its name
            os.write(writing, type(error).__name__.encode())
        status = 0
    finally:
        os._exit(status)
