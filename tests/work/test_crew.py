"""The crew of a process: who may begin one, who forks, and who is left when one of them is killed."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fanout.model.errors import Transient
from fanout.runtime.bootstrap import prepare_processes
from fanout.work.processes import crew as crew_module
from fanout.work.processes.crew import Crew, Process, begin_crew, find_crew, is_alone
from fanout.work.processes.first_child import Send
from fanout.work.processes.shared_work import messages_of
from tests.support.crew import a_crew, processes_of

SECONDS = 30.0


@pytest.fixture(autouse=True)
def none_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has begun no crew."""
    monkeypatch.setattr(crew_module, "_crew", [])


@pytest.fixture
def crew() -> Iterator[Crew]:
    """A crew, none of whose processes is left in the end."""
    with a_crew() as crew:
        yield crew


def all_of(crew: Crew, process: Process) -> list[object]:
    """What a process sends."""
    try:
        return [one for batch in messages_of(crew, [process]) for one in batch]
    finally:
        crew.end(process)


def who(send: Send, *_given: int) -> None:
    descriptors = sorted(int(one) for one in os.listdir("/proc/self/fd"))
    send([os.getpid(), os.getppid(), is_alone(), descriptors, os.environ.get("FANOUT_TEST")])


def wait(_send: Send) -> None:
    signal.pause()


def say_and_wait(send: Send) -> None:
    send([os.getpid()])
    signal.pause()


def came_true(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < until:
        time.sleep(0.001)
    return condition()


def runs(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


@pytest.mark.parametrize("hidden", [False, True])
def test_a_process_with_another_thread_begins_no_crew(hidden: bool) -> None:
    held = allocate_lock()
    held.acquire()
    if hidden:  # from Python's count
        start_new_thread(held.acquire, ())
    else:
        threading.Thread(target=held.acquire).start()
    try:
        assert not is_alone()
        begin_crew()
        assert find_crew() is None
    finally:
        held.release()


def test_a_process_without_another_thread_begins_one_and_keeps_it() -> None:
    child = os.fork()
    if not child:
        status = 1
        try:
            begin_crew()
            first = find_crew()
            begin_crew()
            status = int(first is None or find_crew() is not first)
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_crew_is_of_the_process_that_began_it(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew_module, "_crew", [crew])
    assert find_crew() is crew
    child = os.fork()
    if not child:
        os._exit(int(find_crew() is not None))
    assert os.waitpid(child, 0)[1] == 0


def test_the_first_child_forks_and_a_process_has_nothing_open_of_the_function(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANOUT_TEST", "as it is now")
    reading, writing = os.pipe()
    for _ in range(2):
        process = crew.begin(who, [reading])
        number, parent, alone, descriptors, environment = all_of(crew, process)
        assert (number, parent, alone) == (process.number, crew.first_child, True)
        assert environment == "as it is now"
        # The standard ones, where it sends, its work, what it was given, the file that processes share, and its look.
        assert isinstance(descriptors, list) and len(descriptors) <= 8
    os.close(reading)
    os.close(writing)
    assert os.listdir(f"/proc/{crew.first_child}/task") == [str(crew.first_child)]


def test_a_process_ends_whatever_it_does(crew: Crew) -> None:
    process = crew.begin(wait)
    assert processes_of(crew) == [process.number]
    crew.end(process)
    assert processes_of(crew) == []
    crew.end(process)  # again: it is known no more, and no other process is killed in its place


def test_several_threads_may_ask(crew: Crew) -> None:
    found: list[list[object]] = []
    threads = [threading.Thread(target=lambda: found.append(all_of(crew, crew.begin(who)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one[0] for one in found}) == 8


def test_without_its_first_child_a_function_has_no_crew(monkeypatch: pytest.MonkeyPatch) -> None:
    crew = Crew()
    monkeypatch.setattr(crew_module, "_crew", [crew])
    process = crew.begin(say_and_wait)
    os.kill(crew.first_child, signal.SIGKILL)
    assert came_true(lambda: not runs(crew.first_child))
    with pytest.raises(Transient, match="has ended"):
        crew.begin(who)
    assert find_crew() is None
    crew.end(process)
    os.kill(process.number, signal.SIGKILL)  # it waits for nothing that could end it
    crew.close()


def test_the_processes_of_a_function_that_is_killed_end() -> None:
    reading, writing = os.pipe()
    function = os.fork()
    if not function:
        crew = Crew()
        process = crew.begin(say_and_wait)
        next(messages_of(crew, [process]))
        os.write(writing, b"%d %d" % (crew.first_child, process.number))
        signal.pause()
    processes = [int(one) for one in os.read(reading, 100).split()]
    assert len(processes) == 2 and all(map(runs, processes))
    os.kill(function, signal.SIGKILL)
    os.waitpid(function, 0)
    assert came_true(lambda: not any(map(runs, processes)))
    os.close(reading)
    os.close(writing)


def no_more_processes() -> None:
    """In the first child: as where the kernel gives no more processes."""

    def fail() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    os.fork = fail


def test_a_process_that_cannot_be_made_is_an_error_that_may_pass() -> None:
    crew = Crew(no_more_processes)
    with pytest.raises(Transient, match="Resource temporarily unavailable"):
        crew.begin(who)
    assert crew.is_there
    crew.close()


def test_what_cannot_be_handed_over_begins_no_process(crew: Crew) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        crew.begin(lambda send: send([]))
    assert processes_of(crew) == []


def test_a_closed_crew_leaves_nothing() -> None:
    crew = Crew(prepare_processes)
    process = crew.begin(wait)
    crew.close()
    assert came_true(lambda: not runs(process.number))
    assert not Path(f"/proc/{crew.first_child}").exists()
