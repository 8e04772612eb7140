"""Work on many items in several processes of one function.

Threads that wait for a server still need the interpreter's lock for a moment between two
operations. With many threads, the hand-over of the lock costs more processor time than the work. 64 threads of one
process copied 1,385 files/s to the simulated EFS with 37 context switches a file; 8 processes of 8 threads had 15.
"""

from __future__ import annotations

import mmap
import os
import pickle
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fanout.facts import tuning
from fanout.model.errors import Stalled, Transient
from fanout.work.processes.crew import Crew, Process
from fanout.work.processes.first_child import RAISED, RETURNED, SOME, Send
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


def in_processes(
    crew: Crew,
    items: Sequence[Item],
    work: Callable[..., Generator[list[Message], None, End]],
    processes: int,
    descriptors_of: Callable[[int], Sequence[int]] = lambda _number: (),
) -> Generator[list[Message], None, list[End]]:
    """Yield the messages of ``work`` from each of so many processes; at the end, its return values.

    ``work`` is pickled, and called with an iterator of items and with the descriptors of the process of that number.
    Each process takes further items as it finishes others. An exception of ``work`` is raised here. A process that
    ends without a message raises ``Transient``; the others are ended.
    """
    begun: list[Process] = []
    with ExitStack() as stack:
        shared = _share(items, stack)
        stack.callback(lambda: crew.end(*begun))
        for number in range(processes):
            begun.append(crew.begin(partial(_take_turns, work), [*shared, *descriptors_of(number)]))
        return (yield from messages_of(crew, begun))


def _share(items: Sequence[Item], stack: ExitStack) -> tuple[int, int]:
    """The items, pickled by turns, in memory that processes share, and a pipe that holds where each turn begins.

    Reading a position from the pipe is atomic, and at the end it is empty.
    """
    memory = os.memfd_create("items", os.MFD_CLOEXEC)
    stack.callback(os.close, memory)
    queue, writing = os.pipe()
    stack.callback(os.close, queue)
    starts, at_once = array("I"), _at_once(len(items))
    with open(writing, "wb") as pipe, open(memory, "wb", closefd=False) as file:
        for begin in range(0, len(items), at_once):
            starts.append(file.tell())
            pickle.dump(items[begin : begin + at_once], file, pickle.HIGHEST_PROTOCOL)
        pipe.write(starts.tobytes())
    return memory, queue


def _at_once(count: int) -> int:
    """How many items a process takes in a turn: one of few, for even ends; and no more turns than a pipe holds."""
    return max(1, min(count // _ITEMS_FOR_ONE_TURN, _MOST_AT_ONCE), -(-count // _TURNS_IN_A_PIPE))


def _take_turns(
    work: Callable[..., Generator[list[Message], None, End]], send: Send, memory: int, queue: int, *descriptors: int
) -> End:
    """In a process: ``work`` on the items whose turns this process takes, as long as the first child is there."""
    first_child = os.getppid()

    def items() -> Iterator[Any]:
        while os.getppid() == first_child and (start := os.read(queue, _POSITION)):
            (begin,) = array("I", start)
            yield from pickle.loads(shared[begin:])

    shared = memoryview(_mapped(memory))
    return yield_all(work(items(), *descriptors), send)


def _mapped(memory: int) -> mmap.mmap | bytes:
    return mmap.mmap(memory, 0, access=mmap.ACCESS_READ) if os.fstat(memory).st_size else b""


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


def messages_of(crew: Crew, processes: Sequence[Process]) -> Generator[list[Any], None, list[Any]]:
    """Yield the messages of the processes until all have ended; returns what their work returned.

    Raises what their work raised, and ``Transient`` where one ended without a last message.
    """
    left = {process.reading: process for process in processes}
    ends: list[Any] = []
    while left:
        for reading in _that_say_something(list(left)):
            try:
                kind, value = reading.recv()
            except (EOFError, OSError) as error:  # the process ended between two messages, or within one
                code = crew.status(left.pop(reading))
                raise Transient(f"a process of this function ended with {code}") from error
            if kind == SOME:
                yield value
                continue
            if kind == RAISED:
                raise _error(*value)
            assert kind == RETURNED
            ends.append(value)
            del left[reading]
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


def _error(kind: type[Exception], arguments: tuple[Any, ...], fields: dict[str, Any]) -> Exception:
    """An exception as it was; pickle would call its class with the arguments of ``Exception``."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(fields)
    return error
