"""Every wait without a timeout is for a thread of the same task, whose silence the watch of the function hears.

A thread that waits for another one is heard by the watch, as nothing moves; the main thread is interrupted, and a lock
of Python lets it go. No signal and no lock reaches a process or the other side of a connection, so each wait for one of
those has a time of its own. The watch itself waits for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "layers/core/src/fanout"
# Who ends each wait for a thread that is no future's; futures are ended by the thread that they are of.
FOR_THREADS = {
    "adapters/http/arriving.py": "queue: the loop of all connections, at the end of each exchange",
    "adapters/http/curl.py": "lock: the loop of all connections, at the end of each exchange",
    "adapters/posix/listing/read_ahead.py": "queue: asked only where it is not empty",
    "adapters/posix/paths/directories.py": "event: the thread that opens the directory",
    "adapters/posix/shared_descriptor.py": "event: the threads that write through the descriptor",
    "adapters/s3/copier.py": "threads: those that copy the parts of one object",
    "probe/probe_work.py": "event: the threads of an experiment begin together",
    "staging/pack_writer.py": "lock: the thread that sends a pack",
    "work/rates/shared_limiter.py": "thread: it is asked to stop",
    "work/threads.py": "event: the threads that hold bytes",
}
# Answers of the other side that have a time of their own.
FOR_ANSWERS = {
    "runtime/last_words.py": "of the runtime: the connection has a timeout",
    "work/processes/crew.py": "of the first child: the connection has a timeout",
    "work/processes/first_child.py": "the first child waits for its parent, and ends with it",
    "work/processes/shared_work.py": "what a process has sent: asked only where something is there",
    "work/rates/shared_limiter.py": "of the limiter: the connection has a timeout; it receives only where something is",
}
RECEIVES = {"recv", "recv_fds", "recv_into", "recvfrom", "recvmsg"}
LOOKS = {("poll", 0), ("communicate", 0), ("select", 3)}
NO_ARGUMENTS = {"acquire": "lock", "wait": "event", "get": "queue", "join": "thread"}


def waits(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines of the waits without a timeout, and what each waits for."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = len(node.args) + len(node.keywords)
        timed = any(one.arg == "timeout" for one in node.keywords)
        if name in NO_ARGUMENTS and not given:
            yield node.lineno, NO_ARGUMENTS[name]
        elif name == "wait" and isinstance(node.func, ast.Name) and len(node.args) < 2 and not timed:
            yield node.lineno, "threads"
        elif name in ("waitpid", "wait3", "wait4", "waitid") and "WNOHANG" not in ast.unparse(node):
            yield node.lineno, "process"
        elif name in RECEIVES or ((name, given) in LOOKS and ast.unparse(node.func) != "select.poll"):
            yield node.lineno, "answer"


def found(*kinds: str) -> dict[str, list[int]]:
    """By module, the lines of waits of these kinds."""
    lines: dict[str, list[int]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for line, kind in waits(ast.parse(path.read_text(encoding="utf-8"))):
            if kind in kinds:
                lines.setdefault(path.relative_to(SOURCE).as_posix(), []).append(line)
    return lines


def test_no_wait_for_a_process_is_without_an_end() -> None:
    assert found("process") == {}


def test_each_wait_for_an_answer_has_a_time_of_its_own() -> None:
    assert {module: lines for module, lines in found("answer").items() if module not in FOR_ANSWERS} == {}


def test_each_other_wait_without_an_end_is_for_a_thread_that_is_named_here() -> None:
    kinds = found("lock", "event", "queue", "thread", "threads")
    assert {module: lines for module, lines in kinds.items() if module not in FOR_THREADS} == {}
    assert FOR_THREADS.keys() - kinds.keys() == set(), "no longer waits"


@pytest.mark.parametrize("module", ["runtime/watch.py", "work/progress.py"])
def test_the_watch_waits_for_nothing(module: str) -> None:
    assert list(waits(ast.parse((SOURCE / module).read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("os.waitpid(child, 0)", "process"),
        ("lock.acquire()", "lock"),
        ("event.wait()", "event"),
        ("wait(futures)", "threads"),
        ("queue.get()", "queue"),
        ("thread.join()", "thread"),
        ("connection.recv(1)", "answer"),
        ("select.select(a, b, c)", "answer"),
    ],
)
def test_each_kind_is_found(line: str, kind: str) -> None:
    assert list(waits(ast.parse(line))) == [(1, kind)]


@pytest.mark.parametrize(
    "line",
    ["os.waitpid(child, os.WNOHANG)", "lock.acquire(timeout=1)", "event.wait(1)", "wait(futures, 1)", "thread.join(1)"],
)
def test_one_with_a_time_is_left(line: str) -> None:
    assert list(waits(ast.parse(line))) == []
