"""The first child of a process: it has no thread, ever, and forks the processes that its parent asks for.

It is forked before its parent has a thread, so no lock can be held in it that nobody would release.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import ECHILD
from typing import Any, NoReturn

# A request: what is asked, and the process that it is about. An answer: a process, a status, or an errno below zero.
REQUEST, ANSWER = struct.Struct("<Bq"), struct.Struct("<q")
FORK, END, LOOK = range(3)
# The answer to END and LOOK while the process still runs.
RUNS = -1
# The descriptors of a new process: where it sends, its work, and those that the work takes.
DESCRIPTORS = 8
# What a process sends: a list of messages, what its work returned, or the error that it raised.
SOME, RETURNED, RAISED = range(3)
Send = Callable[[list[Any]], None]


def serve(control: socket.socket, prepare: Callable[[], object]) -> NoReturn:
    """Answer requests until the parent has gone; then end all processes that still run.

    ``prepare`` loads what every process needs; it is called before the first is forked, and may begin no thread.
    """
    running: set[int] = set()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides
        _close_all_but(control.fileno())
        is_prepared = False
        while True:
            request, descriptors, *_ = socket.recv_fds(control, REQUEST.size, DESCRIPTORS)
            if not request:
                break
            asked, process = REQUEST.unpack(request)
            if asked == FORK:
                if not is_prepared:
                    prepare()
                    is_prepared = True
                answer = _fork(control, descriptors)
                if answer > 0:
                    running.add(answer)
            else:
                answer = _status(process, running, ends=asked == END)
            control.send(ANSWER.pack(answer))
    finally:
        for process in running:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        os._exit(0)


def _close_all_but(kept: int) -> None:
    """Close what the parent has open: a socket or pipe of it would look open to its other side."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            with suppress(OSError):
                os.close(int(name))


def _fork(control: socket.socket, descriptors: Sequence[int]) -> int:
    """The new process, or the errno of the failure, below zero."""
    try:
        process = os.fork()
    except OSError as error:
        process = -(error.errno or ECHILD)
    if not process:
        control.close()
        _work(*descriptors)
    for one in descriptors:
        os.close(one)
    return process


def _status(process: int, running: set[int], *, ends: bool) -> int:
    """How a process ended, as ``waitpid`` says it; ``RUNS`` if it has not. No process but a running one is killed."""
    if process not in running:
        return -ECHILD
    if ends:
        os.kill(process, signal.SIGKILL)  # not waited for yet, so the number is still its own
    ended, status = os.waitpid(process, os.WNOHANG)
    if not ended:
        return RUNS
    running.discard(process)
    return status


def _work(sending: int, work: int, *descriptors: int) -> NoReturn:
    """Carry out what the parent wrote down, and send what comes of it; exit without any cleanup."""
    from multiprocessing.connection import Connection

    status = 1
    try:
        connection = Connection(sending, readable=False)
        try:
            environment, carry_out = _read(work)
            os.environ.update(environment)
            connection.send((RETURNED, carry_out(lambda some: connection.send((SOME, some)), *descriptors)))
        except Exception as error:  # noqa: BLE001 - the parent raises it
            connection.send((RAISED, (type(error), error.args, error.__dict__)))
        status = 0
    finally:
        os._exit(status)


def _read(work: int) -> Any:
    with open(work, "rb") as file:
        file.seek(0)
        return pickle.load(file)
