"""Holds the emulator's worker processes to the limits of a Lambda function.

Loaded by emulator_launcher.py, so it imports nothing of the project. The limits come from the function's configuration
in the emulator, that is from the deployed template. The script of worker.py sets the limits that a process cannot set
for itself: descriptors, the read-only file system, the size of /tmp.

Memory is measured, not limited by the kernel: RLIMIT_AS counts address space, of which a function may have any amount,
and a cgroup counts what lies in /tmp and the page cache of the mounts. Processes are counted, because RLIMIT_NPROC does
not bind root.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

logger = logging.getLogger("fanout.limits")

PROC = Path("/proc")
MIB = 1024 * 1024
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html: processes and threads together.
PROCESSES = 1_024
DEFAULT_TMP_MIB = 512
WATCH_SECONDS = 0.05
# How many looks at a process tree's size go by until its members are looked up anew.
LOOKS_A_LISTING = 5
SETTLE_SECONDS = 0.005
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
THREADS_FIELD, PAGES_FIELD = 17, 21


@dataclass
class Environment:
    """An execution environment: a worker's process and all below it."""

    pid: int
    memory_bytes: int
    frozen: bool = False
    over: str = ""
    """The error type of the limit that it went over."""
    _members: list[int] = field(default_factory=list)
    _looks: int = 0

    def freeze(self) -> None:
        """Stop every process, parents first."""
        self.frozen = True
        _signal_tree(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let every process go on."""
        if self.frozen:
            _signal_tree(self.pid, signal.SIGCONT)
            self.frozen = False

    def check(self) -> None:
        """Kill it if it is over a limit."""
        if self._looks % LOOKS_A_LISTING == 0:
            self._members = tree_of(self.pid)
        self._looks += 1
        sizes = [_threads_and_bytes(pid) for pid in self._members]
        if sum(threads for threads, _ in sizes) > PROCESSES:
            self._end("Runtime.ExitError", f"more than {PROCESSES:,} processes and threads")
        # Shared pages count once, which takes longer to find out.
        elif sum(size for _, size in sizes) > self.memory_bytes < sum(map(_own_bytes, self._members)):
            self._end("Runtime.OutOfMemory", f"more than {self.memory_bytes // MIB:,} MB of memory")

    def _end(self, error_type: str, why: str) -> None:
        self.over = error_type
        logger.warning("process %d is killed: %s", self.pid, why)
        _signal_tree(self.pid, signal.SIGKILL)


class Watch:
    """Checks every environment that is not frozen, for as long as it lives."""

    def __init__(self) -> None:
        self._environments: dict[int, Environment] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="limits", daemon=True).start()

    def begin(self, pid: int, memory_mib: int) -> Environment:
        """The environment of a worker's process; it is checked from now on."""
        environment = Environment(pid, memory_mib * MIB)
        with self._lock:
            self._environments[pid] = environment
        return environment

    def forget(self, pid: int) -> None:
        """The process is gone, and its id may become another's."""
        with self._lock:
            self._environments.pop(pid, None)

    def _run(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            with self._lock:
                environments = list(self._environments.values())
            for one in environments:
                if not one.frozen and not one.over:
                    one.check()


class FreezingQueue:
    """The events of a worker's generation: a worker that waits for one is frozen until it comes."""

    def __init__(self, pending: Any, worker: Any, generation: int) -> None:
        self._pending, self._worker, self._generation = pending, worker, generation

    def get(self, timeout: float) -> Any:
        """As ``queue.Queue.get``; called while the worker's runtime asks for its next event."""
        with suppress(queue.Empty):
            return self._thawed(self._pending.get(timeout=SETTLE_SECONDS))
        environment = self._environment()
        if environment is not None and not environment.frozen:
            environment.freeze()
        return self._thawed(self._pending.get(timeout=timeout))

    def _thawed(self, event: Any) -> Any:
        environment = self._environment()
        if environment is not None:
            environment.thaw()
        return event

    def _environment(self) -> Environment | None:
        """That of this generation; ``None`` if another has taken its place."""
        worker = self._worker
        with worker._state_lock:
            current = worker._generation == self._generation and not worker._stopping and worker._proc is not None
            environment: Environment | None = getattr(worker, "environment", None) if current else None
            return environment if environment and environment.pid == worker._proc.pid else None


def keep_functions_in_their_limits() -> None:
    """Workers have the memory, the /tmp and the processes of a function, and are frozen between invocations."""
    from ministack.core import lambda_runtime  # type: ignore[import-not-found]
    from ministack.services import lambda_svc  # type: ignore[import-not-found]

    worker_class, watch = lambda_runtime.ProvidedWorker, Watch()
    await_init, build, invoke = worker_class._await_init, worker_class._build_handler_class, worker_class.invoke
    environment_of = lambda_svc._provided_worker_env

    def with_tmp_size(config: dict[str, Any], code_dir: str, port: int) -> dict[str, str]:
        size = (config.get("EphemeralStorage") or {}).get("Size", DEFAULT_TMP_MIB)
        return {**environment_of(config, code_dir, port), "FANOUT_LOCAL_TMP_BYTES": str(size * MIB)}

    def watched(self: Any, init_timeout: float | None = None) -> None:
        self.environment = watch.begin(self._proc.pid, self.config.get("MemorySize", 128))
        await_init(self, init_timeout)

    def freezing(self: Any, generation: int, pending: Any) -> Any:
        return build(self, generation, FreezingQueue(pending, self, generation))

    def named(self: Any, event: Any, request_id: str, **options: Any) -> Any:
        result = invoke(self, event, request_id, **options)
        if result["status"] == "error" and self.environment.over:
            message = f"RequestId: {request_id} Error: Runtime exited with error: signal: killed"
            payload = {"errorType": self.environment.over, "errorMessage": message}
            return {**result, "error": message, "error_payload": payload}
        return result

    def kill(process: Any) -> None:
        """As Lambda ends an environment: at once, also a frozen one."""
        if process is not None:
            if process.poll() is None:
                _signal_tree(process.pid, signal.SIGKILL)
            watch.forget(process.pid)

    lambda_svc._provided_worker_env = with_tmp_size
    lambda_runtime._signal = kill
    worker_class._await_init, worker_class._build_handler_class, worker_class.invoke = watched, freezing, named


def tree_of(pid: int) -> list[int]:
    """A process and all below it, parents first."""
    found = [pid]
    for one in found:
        found += _children(one)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _signal_tree(pid: int, number: int) -> None:
    """Signal a process, then those below it: one that is stopped makes no further ones."""
    found = [pid] if number != signal.SIGKILL else tree_of(pid)  # who dies is no longer known as a parent
    for one in found:
        with suppress(ProcessLookupError):
            os.kill(one, number)
        if number != signal.SIGKILL:
            found += _children(one)


def _threads_and_bytes(pid: int) -> tuple[int, int]:
    """How many threads a process has, and its resident memory; nothing if it is gone."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(fields[THREADS_FIELD]), int(fields[PAGES_FIELD]) * PAGE_BYTES


def _own_bytes(pid: int) -> int:
    """Its resident memory, of shared pages its share; nothing if it is gone."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
