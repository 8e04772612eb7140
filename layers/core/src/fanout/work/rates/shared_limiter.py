"""The limiter of a function, asked by its other processes: they share its place among the functions of a run.

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
from contextlib import suppress
from itertools import count

from fanout.model.errors import TimeUp, Transient
from fanout.ports.limiter import Limiter, TaskLimiter
from fanout.work.progress import PAUSES, moved, shown

_READ, _LEAVE, _CUT_OFF, _BEGIN = range(4)
# A question: its kind, the ticket, entries and bytes. An answer: the seconds to wait.
_QUESTION, _ANSWER = struct.Struct("<BQQQ"), struct.Struct("<d")
# Chosen: how often the function looks whether there is a limit by now, and how long a process waits for its answer.
_LOOK_SECONDS, _ANSWER_SECONDS = 0.5, 60.0


class SharedLimiter:
    """Answers the limiters of so many other processes, in a thread; ``descriptors`` are those of ``AskingLimiter``.

    While no limit holds, no process asks: a byte in shared memory says so.
    """

    def __init__(self, limiter: TaskLimiter, processes: int) -> None:
        self._limiter = limiter
        self._memory = os.memfd_create("limits", os.MFD_CLOEXEC)
        os.ftruncate(self._memory, 1)
        self._held = mmap.mmap(self._memory, 1)
        self._held[0] = limiter.holds()
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(processes)]
        self._here, self._there = [here for here, _ in pairs], [there for _, there in pairs]
        self._stopping, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._serve, name="limits")
        self._thread.start()

    def descriptors(self, number: int) -> tuple[int, int]:
        """For the process of this number."""
        return self._memory, self._there[number].fileno()

    def close(self) -> None:
        """Stop to answer; the processes have ended."""
        os.close(self._stop)
        self._thread.join()
        os.close(self._stopping)
        for end in (*self._here, *self._there):
            end.close()
        self._held.close()
        os.close(self._memory)

    def _serve(self) -> None:
        poll = select.poll()
        ends = {here.fileno(): (number, here) for number, here in enumerate(self._here)}
        for descriptor in (*ends, self._stopping):
            poll.register(descriptor, select.POLLIN)
        looked = b""
        while True:
            if shown() != looked:  # a look shows progress: one for processes that show none would hide that they hang
                self._held[0] = self._limiter.holds()
                looked = shown()
            for descriptor, _ in poll.poll(_LOOK_SECONDS * 1000):
                if descriptor == self._stopping:
                    return
                number, here = ends[descriptor]
                what, ticket, files, size = _QUESTION.unpack(here.recv(_QUESTION.size))
                with suppress(OSError):  # it was ended meanwhile
                    here.send(_ANSWER.pack(self._answer(number, what, ticket, files, size)))

    def _answer(self, process: int, what: int, ticket: int, files: int, size: int) -> float:
        if what == _READ:
            return self._limiter.ask(size, (process, ticket))
        if what == _BEGIN:
            return self._limiter.ask_to_begin(files, size)
        self._limiter.leave((process, ticket), cut_off=what == _CUT_OFF)
        return 0.0


class AskingLimiter(Limiter):
    """The limiter of one of several processes, which asks the one of the function."""

    def __init__(self, memory: int, asking: int) -> None:
        self._held = mmap.mmap(memory, 1, access=mmap.ACCESS_READ)
        self._asking = socket.socket(fileno=asking)
        self._asking.settimeout(_ANSWER_SECONDS)
        self._lock = threading.Lock()
        self._tickets: dict[int, int] = {}
        self._numbers = count(1)

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
        """The answer; one question of a process at a time. Raises ``TimeUp`` where the function has ended."""
        try:
            self._asking.send(_QUESTION.pack(what, ticket, files, size))
            answer = self._asking.recv(_ANSWER.size)
        except OSError as exc:
            raise Transient(f"reading the limits of the run failed ({exc})") from exc
        if not answer:
            raise TimeUp
        (seconds,) = _ANSWER.unpack(answer)
        return float(seconds)
