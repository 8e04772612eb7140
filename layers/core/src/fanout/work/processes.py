"""Work on many items in several processes of one function.

Threads that wait for a server still need the interpreter's lock for a moment between two
operations. With many threads, the hand-over of the lock costs more processor time than the work. 64 threads of one
process copied 1,385 files/s to the simulated EFS with 37 context switches a file; 8 processes of 8 threads had 15.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from fanout.facts import tuning
from fanout.model.errors import Stalled, Transient
from fanout.work.progress import MESSAGES, Patience, moved

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Item = TypeVar("Item")
Message = TypeVar("Message")
End = TypeVar("End")

_POSITION = array("I").itemsize
# pipe(7): a pipe holds a page at least, where a user has many; nobody reads while the turns are written.
_TURNS_IN_A_PIPE = 4096 // _POSITION
# Messages that are sent together; pickling one by one costs more than the work on a small file.
_SENT_TOGETHER = 256
# Items that a process takes at once: one where there are few, for even ends; taking is an operation too.
_ITEMS_FOR_ONE_TURN, _MOST_AT_ONCE = 1_000, 8
# Chosen: a process that was killed ends within this time, unless a file system does not answer it.
_END_SECONDS, _LOOK_SECONDS = 10.0, 0.001


def in_processes(
    items: Sequence[Item],
    work: Callable[[Iterator[Item]], Generator[list[Message], None, End]],
    processes: int,
    begun: Callable[[], None] = lambda: None,
) -> Generator[list[Message], None, list[End]]:
    """Yield the messages of ``work`` from each of so many processes; at the end, its return values.

    Each process takes further items as it finishes others. ``begun`` is called when all processes exist. An exception
    of ``work`` is raised here. A process that ends without a message raises ``Transient``; the others are ended.
    """
    queue = _queue(len(items))
    pipes: dict[Connection, int] = {}
    try:
        gc.freeze()
        parent = os.getpid()
        for _ in range(processes):
            reading, child = begin_process(lambda send: yield_all(work(_turns(queue, items, parent)), send))
            pipes[reading] = child
        begun()
        return (yield from messages_of(pipes))
    finally:
        os.close(queue)
        end_processes(pipes)
        gc.unfreeze()


def begin_process(work: Callable[[Callable[[list[Any]], None]], Any]) -> tuple[Connection, int]:
    """A process that sends lists of messages, and finally the return value of ``work``; its pipe and its id."""
    from multiprocessing.connection import Pipe  # brings sockets and tempfile, for functions that fork

    reading, writing = Pipe(duplex=False)
    child = os.fork()
    if not child:
        reading.close()
        _child(writing, work)
    writing.close()
    return reading, child


def end_processes(pipes: dict[Connection, int]) -> None:
    """End the processes of these pipes, whatever they do."""
    for reading, child in pipes.items():
        reading.close()
        os.kill(child, signal.SIGKILL)
        _wait_for(child)


def _wait_for(child: int) -> int:
    """How a process ended that ends now. Raises ``Transient`` for one that waits for a file system all the same."""
    until = time.monotonic() + _END_SECONDS
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() >= until:
            raise Transient(f"a process of this function did not end in {_END_SECONDS:.0f} s")
        time.sleep(_LOOK_SECONDS)
    return ended[1]


def _queue(count: int) -> int:
    """A pipe that holds where each turn of so many items begins: reading one is atomic, and at the end it is empty."""
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write(array("I", range(0, count, _at_once(count))).tobytes())
    return reading


def _at_once(count: int) -> int:
    """How many items a process takes in a turn: one of few, for even ends; and no more turns than a pipe holds."""
    return max(1, min(count // _ITEMS_FOR_ONE_TURN, _MOST_AT_ONCE), -(-count // _TURNS_IN_A_PIPE))


def _turns(queue: int, items: Sequence[Item], parent: int) -> Iterator[Item]:
    """Items by the turns that this process takes from the queue, as long as there is a parent."""
    at_once = _at_once(len(items))
    while os.getppid() == parent and (turn := os.read(queue, _POSITION)):
        (begin,) = array("I", turn)
        yield from items[begin : begin + at_once]


def _child(writing: Connection, work: Callable[[Callable[[list[Any]], None]], Any]) -> NoReturn:
    """Work and send messages, then exit without the parent's cleanup."""
    status = 1
    try:
        try:
            end = work(lambda batch: writing.send(("some", batch)))
            writing.send(("end", end))
        except Exception as error:  # noqa: BLE001 - the parent raises it
            writing.send(("error", (type(error), error.args, error.__dict__)))
        status = 0
    finally:
        os._exit(status)


def yield_all(work: Generator[list[Message], None, End], send: Callable[[list[Message]], None]) -> End:
    """Send what a generator yields, several lists together; returns what it returns."""
    held: list[Message] = []
    while True:
        try:
            held += next(work)
        except StopIteration as stop:
            send(held)
            end: End = stop.value
            return end
        if len(held) >= _SENT_TOGETHER:
            send(held)
            held = []


def messages_of(pipes: dict[Connection, int]) -> Generator[list[Any], None, list[Any]]:
    """Yield the messages of the processes until all have ended; removes ended ones from ``pipes``."""
    ends: list[Any] = []
    while pipes:
        for reading in _that_say_something(list(pipes)):
            kind, value = _received(reading)
            if kind == "ended":
                reading.close()
                status = _wait_for(pipes.pop(reading))
                if status:
                    raise Transient(f"a process of this function ended with {os.waitstatus_to_exitcode(status)}")
            elif kind == "error":
                raise _error(*value)
            elif kind == "some":
                yield value
            else:
                ends.append(value)
    return ends


def _that_say_something(reading: list[Connection]) -> list[Connection]:
    """The connections that have a message, or have ended: the one place where a function waits for its processes.

    Raises ``Stalled`` where none of them, nor anything else of the task, shows progress.
    """
    from multiprocessing.connection import wait

    patience = Patience(tuning.STALL_SECONDS)
    while not (found := wait(reading, tuning.STALL_LOOK_SECONDS)):
        if patience.look(tuning.STALL_LOOK_SECONDS):
            moved(MESSAGES)  # what ends the processes now is a step of its own
            raise Stalled("a process of this function", patience.seconds, patience.last)
    moved(MESSAGES)
    return cast("list[Connection]", found)


def _received(reading: Connection) -> tuple[str, Any]:
    try:
        message: tuple[str, Any] = reading.recv()
    except (EOFError, OSError):  # the process ended between two messages, or within one
        return "ended", None
    return message


def _error(kind: type[Exception], arguments: tuple[Any, ...], fields: dict[str, Any]) -> Exception:
    """An exception as it was; pickle would call its class with the arguments of ``Exception``."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(fields)
    return error
