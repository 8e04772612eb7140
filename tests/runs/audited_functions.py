"""Functions in a process of their own, which writes down each fork and each first thread of a process, and by whom.

    python -m tests.runs.audited_functions NOTES RUN_ID REQUEST [RUN_ID REQUEST ...]

The runs are carried out one after the other by the handlers of this one process, so that all but the first are warm.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

FORK, THREAD = "fork", "thread"


def note(path: str) -> None:
    """Write down forks and threads from now on; a process that is forked goes on with it."""
    threaded: set[int] = set()

    def say(row: dict[str, Any]) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def hook(event: str, _arguments: tuple[Any, ...]) -> None:
        if event == "os.fork":
            say({"what": FORK, "by": os.getpid(), "threads": len(os.listdir("/proc/self/task"))})

    def noting(begin: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any, **named: Any) -> Any:
            if os.getpid() not in threaded:
                threaded.add(os.getpid())
                say({"what": THREAD, "by": os.getpid()})
            return begin(*given, **named)

        return noted

    sys.addaudithook(hook)
    for module in (_thread, threading):
        for name in ("start_new_thread", "_start_new_thread", "_start_joinable_thread"):  # not each Python has each
            if hasattr(module, name):
                setattr(module, name, noting(getattr(module, name)))


def main(arguments: list[str]) -> int:
    """Carry out the runs."""
    path, *runs = arguments
    note(path)
    os.sched_getaffinity = lambda _process: {0, 1}
    from benchmarks.s3_worker import handler_of, whole

    handler_of("short_way")
    for run_id, request in zip(runs[::2], runs[1::2], strict=True):
        whole(run_id, json.loads(request))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
