"""Answers for a handler that cannot, and kills the processes of the function. Takes no lock that others hold.

Lambda's own interface of a runtime takes the answer: lambda/latest/dg/runtimes-api.html.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from fanout.model.errors import FanoutError

_PLACE = "AWS_LAMBDA_RUNTIME_API"
_SECONDS = 5.0
_PROC = Path("/proc")


def has_runtime() -> bool:
    """Whether this process is a function's: a test and a benchmark have a handler without a runtime."""
    return _PLACE in os.environ


def answer_for_handler(request_id: str, error: FanoutError) -> None:
    """Send the error as the handler's. The runtime refuses it where the handler has answered by now.

    Without a runtime, or without its answer, the end of the process says that the function was lost.
    """
    if not has_runtime():
        return
    name, place = type(error).__name__, os.environ[_PLACE]
    body = json.dumps({"errorType": name, "errorMessage": str(error), "stackTrace": []}).encode()
    head = (
        f"POST /2018-06-01/runtime/invocation/{request_id}/error HTTP/1.1\r\nHost: {place}\r\n"
        f"Lambda-Runtime-Function-Error-Type: {name}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    host, _, port = place.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), _SECONDS) as connection:
        connection.sendall(head.encode() + body)
        connection.recv(1)  # it is taken


def processes_below() -> list[str]:
    """The state of each process below this one and, where the kernel says it, the call that it waits in."""
    return [f"{_state(one)} {_text(one, 'wchan')}".strip() for one in _tree()]


def end_processes_below() -> None:
    """Kill every process below this one, parents first, and wait for none."""
    for one in _tree():
        with suppress(OSError):
            os.kill(one, signal.SIGKILL)


def _tree() -> list[int]:
    found = _children(os.getpid())
    for one in found:
        found += _children(one)
    return found


def _children(process: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in (_PROC / str(process) / "task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _state(process: int) -> str:
    return _text(process, "stat").rpartition(")")[2].strip()[:1]


def _text(process: int, name: str) -> str:
    with suppress(OSError):
        return (_PROC / str(process) / name).read_text(errors="replace")
    return ""
