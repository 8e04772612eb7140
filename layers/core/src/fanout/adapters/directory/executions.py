"""The runs of a ledger in a directory: a run is at work while a process holds the lock of its file.

The kernel drops the lock with the process, however that ends, so a run that was killed has ended. The file stays and
holds the request.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fanout.adapters.directory.errors import ledger_errors
from fanout.ledger.run_places import run_prefix
from fanout.model.errors import InvalidRequest, NotFound
from fanout.ports.aws import Entered, Execution

MACHINE = "local:stateMachine:fanout"
_EXECUTION = "local:execution:fanout:"
RUNNING = ".running"
# Who looks whether a run is at work holds a shared lock for a moment. Chosen: nobody looks for so long.
_LOOK_SECONDS, _PAUSE_SECONDS = 2.0, 0.01


def execution_of(run_id: str) -> str:
    """The name of a run's execution, as the ledger keeps it."""
    return f"{_EXECUTION}{run_id}"


class DirectoryExecutions:
    """The ``Executions`` and the ``ExecutionReader`` of a ledger below ``root``."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._entered: dict[str, Entered] = {}

    @contextmanager
    def hold(self, run_id: str, request: Any) -> Iterator[None]:
        """Be the process that carries out a run. Raises ``InvalidRequest`` while another one is."""
        path = self._path(execution_of(run_id))
        with ledger_errors(path):
            os.makedirs(f"{self._root}/{RUNNING}", mode=0o700, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _locked(file):
                problem = f"{run_id} is at work in another process of this machine"
                raise InvalidRequest("run_id", problem, "wait for its end, or start under another --name")
            with ledger_errors(path):
                os.ftruncate(file, 0)
                os.pwrite(file, json.dumps(request).encode(), 0)
            yield
        finally:
            self._entered.pop(execution_of(run_id), None)
            os.close(file)

    def running(self, execution: str) -> bool:
        try:
            with open(self._path(execution), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (FileNotFoundError, InvalidRequest):
            return False
        except BlockingIOError:
            return True
        return False

    def find(self, execution: str) -> Execution:
        try:
            with open(self._path(execution), "rb") as file:
                data = file.read()
        except (FileNotFoundError, InvalidRequest):
            raise NotFound(execution) from None
        given = json.loads(data) if data else None
        return Execution(MACHINE, execution.removeprefix(_EXECUTION), self.running(execution), given)

    def enter(self, run_id: str, state: str, given: Any) -> None:
        """Note the state that a run of this process enters now."""
        self._entered[execution_of(run_id)] = Entered(state, given)

    def entered(self, execution: str) -> Entered:
        try:
            return self._entered[execution]
        except KeyError:
            raise NotFound(execution) from None

    def _path(self, execution: str) -> str:
        """Raises ``InvalidRequest`` for what is no execution of such a ledger."""
        run_id = execution.removeprefix(_EXECUTION) if execution.startswith(_EXECUTION) else ""
        run_prefix(run_id)
        return f"{self._root}/{RUNNING}/{run_id}"


def _locked(file: int) -> bool:
    until = time.monotonic() + _LOOK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
