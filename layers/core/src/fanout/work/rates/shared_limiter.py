"""The limiter of a function, asked by the processes that it forks: they share its place among the functions of a run.

Otherwise each process would count as a function and poll the ledger itself, eight times as often.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import threading
import time
from itertools import count

from fanout.model.errors import TimeUp, Transient
from fanout.ports.limiter import Limiter, TaskLimiter
from fanout.work.progress import PAUSES, moved, shown

_READ, _LEAVE, _CUT_OFF, _BEGIN, _STOP = range(5)
# A question: its kind, the ticket, entries and bytes. An answer: the seconds to wait.
_QUESTION, _ANSWER = struct.Struct("<BQQQ"), struct.Struct("<d")
# Chosen: how often the function looks whether there is a limit by now, and how long a process waits for its answer.
_LOOK_SECONDS, _ANSWER_SECONDS = 0.5, 60.0


class SharedLimiter(Limiter):
    """The limiter that the processes of one function ask; ``serve`` answers them in a thread of the parent process.

    While no limit holds, no process asks: a byte in shared memory says so.
    """

    def __init__(self, limiter: TaskLimiter, processes: int) -> None:
        self._limiter = limiter
        self._held = mmap.mmap(-1, 1)
        self._held[0] = limiter.holds()
        self._ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(processes)]
        self._parent = os.getpid()
        self._turn, numbers = os.pipe()  # which end is whose: each process takes a number
        os.write(numbers, bytes(range(processes)))
        os.close(numbers)
        self._thread = threading.Thread(target=self._serve, name="limits")
        self._mine: socket.socket | None = None
        self._lock = threading.Lock()
        self._tickets: dict[int, int] = {}
        self._numbers = count(1)

    def serve(self) -> None:
        """Begin to answer; the processes are there."""
        self._thread.start()

    def close(self) -> None:
        """Stop to answer; the processes have ended."""
        if self._thread.is_alive():
            self._ends[0][1].send(_QUESTION.pack(_STOP, 0, 0, 0))
            self._thread.join()
        for here, there in self._ends:
            here.close()
            there.close()
        os.close(self._turn)
        self._held.close()

    def ask(self, size: int, ticket: object) -> float:
        if not self._held[0]:
            return 0.0
        with self._lock:
            number = self._tickets.setdefault(id(ticket), next(self._numbers))
            return self._asked(_READ, number, 0, size)

    def leave(self, ticket: object, *, cut_off: bool) -> None:
        if not self._tickets:
            return
        with self._lock:
            number = self._tickets.pop(id(ticket), 0)
            if number:
                self._asked(_CUT_OFF if cut_off else _LEAVE, number, 0, 0)

    def ask_to_begin(self, files: int, size: int) -> float:
        if not self._held[0]:
            return 0.0
        with self._lock:
            return self._asked(_BEGIN, 0, files, size)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
        moved(PAUSES)

    def _asked(self, what: int, ticket: int, files: int, size: int) -> float:
        """The answer; one question of a process at a time."""
        if self._mine is None:
            self._mine = self._ends[os.read(self._turn, 1)[0]][1]
            self._mine.settimeout(_ANSWER_SECONDS)
        try:
            self._mine.send(_QUESTION.pack(what, ticket, files, size))
            (seconds,) = _ANSWER.unpack(self._mine.recv(_ANSWER.size))
        except OSError as exc:
            if os.getppid() != self._parent:
                raise TimeUp from exc
            raise Transient(f"reading the limits of the run failed ({exc})") from exc
        return float(seconds)

    def _serve(self) -> None:
        poll = select.poll()
        ends = {here.fileno(): (number, here) for number, (here, _) in enumerate(self._ends)}
        for descriptor in ends:
            poll.register(descriptor, select.POLLIN)
        looked = b""
        while True:
            if shown() != looked:  # a look shows progress, so one for processes that show none would hide a stall
                self._held[0] = self._limiter.holds()
                looked = shown()
            for descriptor, _ in poll.poll(_LOOK_SECONDS * 1000):
                number, here = ends[descriptor]
                what, ticket, files, size = _QUESTION.unpack(here.recv(_QUESTION.size))
                if what == _STOP:
                    return
                here.send(_ANSWER.pack(self._answer(number, what, ticket, files, size)))

    def _answer(self, process: int, what: int, ticket: int, files: int, size: int) -> float:
        if what == _READ:
            return self._limiter.ask(size, (process, ticket))
        if what == _BEGIN:
            return self._limiter.ask_to_begin(files, size)
        self._limiter.leave((process, ticket), cut_off=what == _CUT_OFF)
        return 0.0
