"""The processes that a function works with: made by a first child, which is forked before the function has a thread.

Who forks while another thread runs copies the locks that this thread holds, and nothing releases them in the copy.
Python's count of threads does not help: a thread that has left Python still holds locks of OpenSSL while it ends. So
no process forks that has had a thread: ``begin_crew`` forks the first child while the kernel knows one thread, and the
first child forks all others, in each task of a warm function too. They get their work as a message.
"""

from __future__ import annotations

import gc
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from fanout.model.errors import Transient
from fanout.work.processes.first_child import ANSWER, DESCRIPTORS, END, FORK, LOOK, REQUEST, RUNS, serve

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Chosen: the first child answers within a millisecond; and a process that was killed ends within this time, unless a
# file system does not answer it.
_ANSWER_SECONDS, _END_SECONDS = 30.0, 10.0
_LOOK_SECONDS = 0.001
_ENDED = "the process that makes the others of this function has ended"


class Process(NamedTuple):
    """A process at work: where its messages arrive, and its number."""

    reading: Connection
    number: int


class Crew:
    """The first child of this process, asked for further ones. Safe to share between threads."""

    def __init__(self, prepare: Callable[[], object] = lambda: None) -> None:
        """Fork the first child; see ``serve``. Only ``begin_crew`` and tests do."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._owner = os.getpid()
        gc.freeze()  # no collection writes to the pages that all processes share
        try:
            self._first = os.fork()
            if not self._first:
                here.close()
                serve(there, prepare)
        finally:
            gc.unfreeze()
        there.close()
        here.settimeout(_ANSWER_SECONDS)
        self._control = here
        self._lock = threading.Lock()
        self._is_gone = False

    @property
    def is_there(self) -> bool:
        """Whether this process may ask for others: not where the first child has ended, or is another's."""
        return not self._is_gone and self._owner == os.getpid()

    def begin(self, work: Callable[..., Any], descriptors: Sequence[int] = ()) -> Process:
        """A process that calls ``work`` with how to send a list of messages, and with these descriptors.

        ``work`` is pickled. The last thing sent is what it returns or raises. Raises ``Transient``.
        """
        from multiprocessing.connection import Pipe  # brings tempfile, for functions that have processes

        message = os.memfd_create("work", os.MFD_CLOEXEC)
        reading, writing = Pipe(duplex=False)
        try:
            with open(message, "wb", closefd=False) as file:
                pickle.dump((dict(os.environ), work), file, pickle.HIGHEST_PROTOCOL)
            number = self._ask(FORK, 0, [writing.fileno(), message, *descriptors])
        except BaseException:
            reading.close()
            raise
        finally:
            writing.close()
            os.close(message)
        if number < 0:
            reading.close()
            raise Transient(f"no process could be made: {os.strerror(-number)}")
        return Process(reading, number)

    def end(self, *processes: Process) -> None:
        """End these processes, whatever they do."""
        for process in processes:
            process.reading.close()
        with suppress(Transient):  # without the first child its processes have ended
            running = [one for one in processes if self._ask(END, one.number) == RUNS]
            for process in running:
                self._ended(END, process)

    def status(self, process: Process) -> int:
        """How a process ended that has sent its last message: its exit code, or a signal's number below zero."""
        return os.waitstatus_to_exitcode(self._ended(LOOK, process))

    def _ended(self, ask: int, process: Process) -> int:
        until = time.monotonic() + _END_SECONDS
        while (status := self._ask(ask, process.number)) == RUNS:
            if time.monotonic() >= until:
                raise Transient(f"a process of this function did not end in {_END_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)
        if status < 0:
            raise Transient(f"a process of this function is not known: {os.strerror(-status)}")
        return status

    def _ask(self, what: int, process: int, descriptors: Sequence[int] = ()) -> int:
        assert len(descriptors) <= DESCRIPTORS
        with self._lock:
            if not self.is_there:
                raise Transient(_ENDED)
            try:
                socket.send_fds(self._control, [REQUEST.pack(what, process)], descriptors)
                (answer,) = ANSWER.unpack(self._control.recv(ANSWER.size) or _no_answer())
            except BaseException as error:
                # An answer that comes late would be taken for the next one. The first child ends all its processes.
                self._is_gone = True
                self._control.close()
                if isinstance(error, OSError):
                    raise Transient(_ENDED) from error
                raise
        return int(answer)

    def close(self) -> None:
        """End the first child, and with it all its processes."""
        self._is_gone = True
        self._control.close()
        until = time.monotonic() + _END_SECONDS
        with suppress(ChildProcessError):
            while not os.waitpid(self._first, os.WNOHANG)[0] and time.monotonic() < until:
                time.sleep(_LOOK_SECONDS)

    @property
    def first_child(self) -> int:
        """The number of the first child."""
        return self._first


def _no_answer() -> bytes:
    raise ConnectionResetError


_crew: list[Crew] = []


def is_alone() -> bool:
    """Whether the kernel knows no thread of this process but this one."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def begin_crew(prepare: Callable[[], object] = lambda: None) -> None:
    """Have the crew of this process from now on, if it has no other thread; ``prepare`` as in ``serve``."""
    if find_crew() is None and is_alone():
        _crew[:] = [Crew(prepare)]


def find_crew() -> Crew | None:
    """The crew of this process; ``None`` where it had threads before it could begin one, or the first child died."""
    return _crew[0] if _crew and _crew[0].is_there else None
