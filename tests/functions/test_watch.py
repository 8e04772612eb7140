"""A task that shows no progress ends by name, whatever hangs; a task that shows some goes on, however slow it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

import pytest

from fanout.adapters.posix.probe.writeback import writes_answered
from fanout.facts import tuning
from fanout.flow.evidence import Evidence
from fanout.flow.steps import STEPS, Step
from fanout.model.errors import Stalled
from fanout.runtime import handlers, watch
from fanout.runtime.watch import TaskWatch, WatchedTask, stall_seconds_of
from tests.functions.conftest import LambdaContext

ROOT = Path(__file__).parents[2]
BY_NAME = ("file", "lock", "pools", "future", "queue", "bytes", "limits", "writers", "store", "stuck loop", "spins")
ENDED = ("call", "swallowed")


def hanging(what: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.hanging", what]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.fixture
def runtime() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Lambda's interface of a runtime: its place, and what was posted to it."""
    posted: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append((self.path, json.loads(body)))
            self.send_response(202)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}", posted
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("what", BY_NAME)
def test_what_hangs_ends_in_an_error_of_the_handler(what: str) -> None:
    ended = hanging(what)
    assert ended.stdout.startswith("ended by name: Stalled: CopyShard showed no progress"), ended.stderr
    [line] = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    assert (line["message"], line["state"], line["run_id"]) == ("task_stalled", "CopyShard", "run-1")
    assert "most recent call first" in ended.stderr


@pytest.mark.parametrize("what", ENDED)
def test_where_the_handler_cannot_answer_the_watch_does_and_ends_the_process(
    what: str, runtime: tuple[str, list[tuple[str, Any]]]
) -> None:
    place, posted = runtime
    ended = hanging(what, AWS_LAMBDA_RUNTIME_API=place)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert [json.loads(line)["message"] for line in ended.stderr.splitlines() if line.startswith("{")] == [
        "task_stalled",
        "task_ended_by_watch",
    ]
    [(path, error)] = posted
    assert path == "/2018-06-01/runtime/invocation/request-1/error"
    assert error["errorType"] == "Stalled" and error["errorMessage"].startswith("CopyShard showed no progress")


def test_one_without_a_runtime_that_answers_is_ended_all_the_same() -> None:
    assert hanging("call", AWS_LAMBDA_RUNTIME_API="127.0.0.1:9").returncode == 1
    assert hanging("call").returncode == 1


def test_a_call_that_holds_the_lock_of_the_interpreter_is_ended_without_it() -> None:
    ended = hanging("call with the interpreter's lock")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Timeout" in ended.stderr and "in_call" in ended.stderr


# The handler.


def a_step(
    s3: Any, work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, stall_seconds: float = 600.0
) -> Callable[[], Any]:
    """Calls the handler of CopyShard, whose step does this, and asks for no evidence of its run."""
    step = Step("", "CopyShard", call=lambda *_: work(), evidence=Evidence.EACH_STEP)
    monkeypatch.setitem(STEPS, "CopyShard", step)
    monkeypatch.setattr(Step, "load", lambda _: None)
    monkeypatch.setattr(tuning, "STALL_SECONDS", stall_seconds)
    event = {"step": "CopyShard", "run": {"id": "run-1", "bucket": "work-bucket", "prefix": "runs/run-1/"}}
    return lambda: handlers.handler_of("CopyShard")(event, LambdaContext())


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The exit statuses with which this process was to end; no task has stalled in it."""
    statuses: list[int] = []
    monkeypatch.setattr(watch, "_stalled", [])
    monkeypatch.setattr(os, "_exit", statuses.append)
    return statuses


def test_a_process_in_which_a_task_stalled_takes_no_other(
    s3: Any, ended: list[int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    call = a_step(s3, threading.Event().wait, monkeypatch, stall_seconds=0.5)
    with pytest.raises(Stalled, match="CopyShard showed no progress"):
        call()
    assert '"message": "task_stalled", "state": "CopyShard", "run_id": "run-1"' in capfd.readouterr().err
    call = a_step(s3, dict, monkeypatch)
    assert call() == {}
    assert ended == [], "this process is a test's"
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")
    call()
    assert ended == [1]


def test_a_task_that_ends_is_no_longer_watched(s3: Any, ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    watches: SimpleQueue[str] = SimpleQueue()

    def watching(run: Callable[[], None], _arguments: tuple[()]) -> None:
        def to_its_end() -> None:
            run()
            watches.put("ended")

        threading.Thread(target=to_its_end, daemon=True).start()

    monkeypatch.setattr(watch, "start_new_thread", watching)
    call = a_step(s3, dict, monkeypatch)
    assert [call() for _ in range(3)] == [{}] * 3
    assert [watches.get(timeout=60) for _ in range(3)] == ["ended"] * 3
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")
    call()
    assert ended == []


# The watch, with looks and progress that are given.


class GivenTask:
    """What a watch sees, one look after the other: whether something moved, and the seconds that it was busy."""

    def __init__(self, looks: list[tuple[bool, float]], ends_when_interrupted: bool = True) -> None:
        self._looks, self._ends = iter(looks), ends_when_interrupted
        self._moved, self._busy = 0, 0.0
        self.interrupted, self.ended = 0, False

    def wait(self, _seconds: float) -> bool:
        moves, self._busy = next(self._looks, (False, -1.0))
        self._moved += moves
        return self._busy < 0 or (self._ends and self.interrupted > 0)

    def interrupt(self) -> None:
        self.interrupted += 1

    def end(self, error: Stalled) -> NoReturn:
        self.ended = True
        raise error

    def watch(self, seconds: float = 70.0) -> TaskWatch:
        return TaskWatch(
            WatchedTask({"state": "CopyShard"}, "request-1", seconds),
            self.interrupt,
            self.end,
            wait=self.wait,
            busy_seconds=lambda: self._busy,
            progress=lambda: bytes([self._moved % 256]),
        )


SILENT, MOVES = (False, 0.0), (True, 0.0)


def test_the_slowest_step_is_no_stall_and_a_longer_one_is() -> None:
    slowest = [*[SILENT] * 70, MOVES] * 5
    task = GivenTask(slowest)
    task.watch().run()
    assert not task.interrupted
    stalled = GivenTask([*slowest, *[SILENT] * 71])
    found = stalled.watch()
    found.run()
    assert stalled.interrupted == 1 and found.stalled
    assert "showed no progress for 71 s" in str(found.error)


def test_a_frozen_function_has_had_one_look_however_long_it_took() -> None:
    task = GivenTask([SILENT] * 60)  # of which any may have taken hours: no clock is asked
    task.watch().run()
    assert not task.interrupted


def test_of_work_of_the_processor_only_a_part_counts() -> None:
    computes = GivenTask([(False, 1.0)] * 270)  # also the seconds that it waits for a processor, on a busy machine
    computes.watch().run()
    assert not computes.interrupted
    spins = GivenTask([(False, 1.0)] * 300)
    spins.watch().run()
    assert spins.interrupted


def test_one_that_does_not_end_for_an_interruption_is_interrupted_again_then_ended() -> None:
    task = GivenTask([SILENT] * 200, ends_when_interrupted=False)
    found = task.watch()
    with pytest.raises(Stalled, match="for 71 s"):
        found.run()
    assert (task.interrupted, task.ended) == (3, True)


def test_one_that_shows_progress_and_does_not_end_is_ended() -> None:
    task = GivenTask([*[SILENT] * 71, *[MOVES] * 400], ends_when_interrupted=False)
    with pytest.raises(Stalled):
        task.watch().run()
    assert task.ended


def test_nothing_is_raised_in_a_task_that_is_over() -> None:
    found = GivenTask([SILENT]).watch()
    found.close()
    found.raise_in_task(0, None)


@pytest.mark.parametrize(("remaining", "seconds"), [(900.0, 70.0), (300.0, 70.0), (120.0, 60.0), (1.0, 60.0)])
def test_a_function_ends_by_name_before_it_is_ended(remaining: float, seconds: float) -> None:
    assert stall_seconds_of(remaining) == seconds


STATISTICS = """device overlay mounted on / with fstype overlay
device 127.0.0.1:/ mounted on /mnt/data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.1
\tper-op statistics
\t        READ: 5 5 0 900 700 0 1 1 0
\t       WRITE: 12 12 0 1048576 600 0 9 9 0
device 127.0.0.1:/ mounted on /mnt/archive with fstype nfs4 statvers=1.1
\t       WRITE: 3 3 0 1048576 600 0 9 9 0
"""


def test_the_writes_that_servers_answered_show_a_close_that_takes_long(tmp_path: Path) -> None:
    statistics = tmp_path / "mountstats"
    assert writes_answered(statistics) == 0
    statistics.write_text(STATISTICS)
    assert writes_answered(statistics) == 15
