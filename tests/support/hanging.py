"""A function's process in which something hangs: ``python -m tests.support.hanging WHAT``, with short times.

Prints the name of the error that the handler ends with; the watch may end the process instead.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any
from unittest.mock import patch

from fanout.adapters.http.transport import Timeouts, Transport
from fanout.adapters.posix.shared_descriptor import SharedDescriptor
from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.errors import FanoutError
from fanout.runtime import watch
from fanout.work.rates.throttle import Throttle
from fanout.work.threads import ByteBudget
from tests.support.memory_store import MemoryStore

SECONDS = 0.3


class LambdaContext:
    aws_request_id = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        """See Lambda's context."""
        return 900_000


def fifo() -> str:
    """A file whose opening waits for ever, as one of a mount that does not answer."""
    path = f"{tempfile.mkdtemp()}/fifo"
    os.mkfifo(path)
    return path


def on_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    with lock:
        pass


def in_pools() -> None:
    """Threads that wait for threads, each of whose ``with`` waits once more on the way out."""
    with ThreadPoolExecutor(1) as outer, ThreadPoolExecutor(1) as inner:
        outer.submit(inner.submit(open, fifo()).result).result()


def on_bytes() -> None:
    budget = ByteBudget(1)
    with budget.take(1), budget.take(1):
        pass


def on_limits() -> None:
    """The first look for limits, which another thread makes and never ends."""
    limiter = Throttle("copy", Ledger(MemoryStore(), "run-1", ""), "n", time.time, time.sleep)
    limiter._looking = True
    limiter.ask_to_begin(1, 0)


def on_writers() -> None:
    """A descriptor that a thread writes through and does not give back."""
    shared = SharedDescriptor(lambda: os.open(os.devnull, os.O_WRONLY))
    with shared.use():
        shared.close()


def in_call(library: Any) -> None:
    """A call that returns for no signal: a lock of C that is held."""
    lock = ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)


def on_store() -> None:
    """A store that takes the request and never answers, asked by one who waits for ten minutes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        Transport(Timeouts(5, 600, 600)).ask("GET", url, {}, None)


def on_stuck_loop() -> None:
    """A thread of all connections that is stuck in a call of its library."""
    with patch("fanout.adapters.http.loop.Loop._turn", lambda _loop: in_call(ctypes.CDLL(None))):
        Transport().ask("GET", "http://127.0.0.1:9/", {}, None)


def spin() -> None:
    while True:
        pass


def swallowed() -> None:
    """One that does not end for an error."""
    while True:
        try:
            on_lock()
        except FanoutError:
            continue


HANGS: dict[str, Callable[[], Any]] = {
    "file": lambda: os.open(fifo(), os.O_RDONLY),
    "lock": on_lock,
    "pools": in_pools,
    "future": lambda: Future[None]().result(),
    "queue": lambda: SimpleQueue[None]().get(),
    "bytes": on_bytes,
    "limits": on_limits,
    "writers": on_writers,
    "store": on_store,
    "stuck loop": on_stuck_loop,
    "spins": spin,
    "call": lambda: in_call(ctypes.CDLL(None)),
    "call with the interpreter's lock": lambda: in_call(ctypes.PyDLL(None)),
    "swallowed": swallowed,
}


def main(what: str) -> None:
    tuning.STALL_SECONDS = SECONDS
    watch._UNHEARD_SECONDS = 5 * SECONDS
    short = partial(watch.TaskWatch, look_seconds=SECONDS / 3, grace_seconds=SECONDS)
    with patch.object(watch, "TaskWatch", short):
        try:
            with watch.watched(LambdaContext(), {"state": "CopyShard", "run_id": "run-1"}):
                HANGS[what]()
        except FanoutError as error:
            print(f"ended by name: {type(error).__name__}: {error}", flush=True)
            os._exit(0)  # what hangs may hang still


if __name__ == "__main__":
    main(sys.argv[1])
