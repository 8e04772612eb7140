"""What shows progress, and that none of the waits that are allowed is taken for a stall."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest

from fanout.adapters.http.transport import Timeouts, Transport
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.requests import RetryPolicy
from fanout.copying.copier import Copier
from fanout.facts import tuning, units
from fanout.model.deadline import NEVER, Deadline
from fanout.model.errors import Stalled
from fanout.model.segment import Segment
from fanout.ports.limiter import Limiter
from fanout.work import progress
from fanout.work.processes import shared_work
from fanout.work.progress import FILES, MESSAGES, Patience, moved, shown
from fanout.work.rates import shared_limiter
from fanout.work.rates.throttle import Throttle
from tests.support.mounts import writable


def moves(work: Callable[[], object]) -> set[int]:
    """What moved while this was done."""
    before = shown()
    work()
    return {number for number, (here, there) in enumerate(zip(before, shown(), strict=True)) if here != there}


def test_any_thread_and_any_process_that_is_forked_shows_progress_to_all() -> None:
    before = shown()
    child = os.fork()
    if not child:
        moved(FILES)
        os._exit(0)
    os.waitpid(child, 0)
    assert shown() != before


def test_patience_ends_after_its_seconds_without_a_change_and_says_what_moved_last() -> None:
    patience = Patience(3.0)
    assert patience.last == "nothing yet"
    assert [patience.look(1.0) for _ in range(3)] == [False] * 3
    moved(MESSAGES)
    assert [patience.look(1.0) for _ in range(5)] == [False] * 4 + [True]
    assert (patience.seconds, patience.last) == (4.0, "another process of the function")


def test_the_table_of_silent_steps_holds_the_time_outs_of_the_code() -> None:
    steps, http = tuning.SILENT_STEPS, Timeouts()
    assert steps["a store that does not answer"] == http.connect_seconds + http.stall_seconds
    assert steps["a process that asks for the limits of the run"] == shared_limiter._ANSWER_SECONDS
    assert max(steps.values()) < tuning.STALL_SECONDS
    # Between two requests; the next one shows its connection, or ends by its own time-out.
    assert RetryPolicy().cap_seconds + http.connect_seconds + http.stall_seconds < tuning.STALL_SECONDS


def test_bytes_of_an_answer_show_however_slow_the_link_is() -> None:
    """The server sends a byte at a time until it has seen three times that something moved, then the rest."""
    size, wanted = 1_000_000, 3

    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            sent, seen, before = 0, 0, shown()
            while seen < wanted and sent < size:
                connection.sendall(b"x")
                sent += 1
                pause.wait(0.001)
                now = shown()
                seen, before = seen + (now != before), now
            connection.sendall(b"x" * (size - sent))
            counted.append(seen)

    pause, counted = threading.Event(), list[int]()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        response = Transport().ask("GET", f"http://127.0.0.1:{server.getsockname()[1]}/", {}, None)
        thread.join()
    assert (len(response.body), counted) == (size, [wanted])


def test_each_step_with_a_file_system_shows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/small").write_bytes(b"x")
    (tmp_path / "in/large").write_bytes(os.urandom(3 * units.MIB))
    source = PosixTree(tmp_path, "in", "run", "s", "source")
    destination = writable(PosixTree(tmp_path, "out", "run", "d"))
    entries = list(source.list(Segment("all")))
    assert moves(lambda: list(source.list(Segment("all")))) == {FILES}
    copier = Copier(source, destination, NEVER, block_bytes=units.MIB)
    for entry in entries:
        assert moves(lambda entry=entry: list(copier.copy_all([(0, entry)], 1))) == {FILES}, entry.path  # type: ignore[misc]
    opened = source.open(next(entry for entry in entries if entry.path == "large"))
    for block in range(3):
        assert moves(lambda block=block: opened.read(block * units.MIB, units.MIB)) == {FILES}  # type: ignore[misc]
    opened.close()
    assert moves(destination.finish) == {FILES}


class Paced(Throttle):
    """A throttle that lets one entry begin after so many seconds of a clock that only its pauses move."""

    def __init__(self, seconds: float, patience: Patience) -> None:
        self.time, self._until, self._patience = 0.0, seconds, patience
        self._sleep = self._pause

    def _pause(self, seconds: float) -> None:
        self.time += seconds
        assert not self._patience.look(seconds), "a pause for the limits is taken for a stall"

    def ask_to_begin(self, files: int, size: int) -> float:
        return 0.1 if self.time < self._until else 0.0


def test_a_pause_for_the_limits_of_the_run_is_no_stall() -> None:
    limiter = Paced(600.0, Patience(tuning.STALL_SECONDS))
    assert Limiter.admit(limiter, Deadline(lambda: limiter.time, 900.0))
    assert limiter.time >= 600.0


def test_a_process_that_pauses_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    limiter = object.__new__(shared_limiter.AskingLimiter)
    assert moves(lambda: limiter.sleep(0.1)) == {progress.PAUSES}


def test_processes_that_show_nothing_are_waited_for_until_they_have_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "STALL_SECONDS", 0.05)
    monkeypatch.setattr(tuning, "STALL_LOOK_SECONDS", 0.01)
    reading, writing = Pipe(duplex=False)
    with reading, writing:
        with pytest.raises(Stalled, match="a process of this function showed no progress"):
            shared_work._that_say_something([reading])
        writing.send("something")
        assert shared_work._that_say_something([reading]) == [reading]
