"""The runs of machines that share a ledger in a bucket: a run is at work while its process renews its lease.

A lease is an object next to the lists of writers. Its age is the difference between the times that S3 gives in one
answer, the time of its last write and the time of the answer: no machine's clock counts.

| the process                                | its lease                     | the run has ended         |
|--------------------------------------------|-------------------------------|---------------------------|
| works                                      | renewed every 10 s            |                           |
| ends, by itself or by Ctrl-C               | removed                       | at once                   |
| is killed, or its machine stops            | grows old                     | after 90 s                |
| cannot renew it: no network, it slept      | grows old                     | the process ends at 60 s  |
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from fanout.adapters.directory.executions import MACHINE, execution_of
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.work_store import S3WorkStore
from fanout.ledger.run_places import LOCKS, run_prefix
from fanout.model.document import json_value
from fanout.model.errors import FanoutError, InvalidRequest, LedgerBroken, NotFound, PreconditionFailed, Transient
from fanout.ports.aws import Entered, Execution, Executions

HERE = f"{LOCKS}here/"
EXECUTION = execution_of("")
# Chosen: a request that fails is repeated some times before the lease counts as lost.
_LOOK_SECONDS, RENEW_SECONDS, GIVE_UP_SECONDS, LEASE_SECONDS = 1.0, 10.0, 60.0, 90.0


class Leases(Struct, frozen=True):
    """The leases of a bucket, below a prefix of it."""

    client: S3Client
    bucket: str
    prefix: str = ""

    def key_of(self, run_id: str) -> str:
        """The key of a run's lease. Raises ``InvalidRequest`` for a name of no run."""
        run_prefix(run_id)
        return f"{self.prefix}{HERE}{run_id}.json"

    def is_held(self, run_id: str) -> bool:
        """Whether the lease of a run is there, and not too old."""
        from email.utils import parsedate_to_datetime

        try:
            headers = self.client.head_object(self.bucket, self.key_of(run_id)).headers
        except NotFound:
            return False
        try:
            age = parsedate_to_datetime(headers["date"]) - parsedate_to_datetime(headers["last-modified"])
        except (KeyError, ValueError) as error:
            raise Transient(f"HEAD of {self.bucket}/{self.key_of(run_id)}: the answer has no times") from error
        return age.total_seconds() < LEASE_SECONDS


class EitherExecutions(Struct, frozen=True):
    """The ``Executions`` of a bucket that functions and machines write: each is asked where it is known."""

    leases: Leases
    functions: Executions

    def running(self, execution: str) -> bool:
        if not execution.startswith(EXECUTION):
            return self.functions.running(execution)
        return self.leases.is_held(execution.removeprefix(EXECUTION))


class LeasedExecutions:
    """The ``Executions`` and the ``ExecutionReader`` of a ledger in a bucket. ``lost`` is called where a lease is."""

    def __init__(self, leases: Leases, functions: Executions, lost: Callable[[str], None]) -> None:
        self._leases, self._lost = leases, lost
        self._all = EitherExecutions(leases, functions)
        self._store = S3WorkStore(leases.client, leases.bucket)
        self._entered: dict[str, Entered] = {}

    @contextmanager
    def hold(self, run_id: str, request: Any) -> Iterator[None]:
        """Be the process that carries out a run. Raises ``InvalidRequest`` while another one is."""
        key, problem = self._leases.key_of(run_id), f"{run_id} is at work in another process"
        busy = InvalidRequest("run_id", problem, "wait for its end, or start under another --name")
        found = self._store.read_version(key)
        if found.version and self._leases.is_held(run_id):
            raise busy
        body = _body(run_id, request)
        try:
            self._store.write_version(key, body, found.version)
        except PreconditionFailed as error:
            raise busy from error
        lease = _Renewed(self._store, key, body)
        for work in (lease.renew, lambda: lease.watch(lambda: self._lost(run_id))):
            threading.Thread(target=work, name="lease", daemon=True).start()
        try:
            yield
        finally:
            lease.is_over.set()
            self._entered.pop(execution_of(run_id), None)
            with suppress(FanoutError):  # it grows old by itself
                self._store.remove([key])

    def running(self, execution: str) -> bool:
        return self._all.running(execution)

    def find(self, execution: str) -> Execution:
        run_id = execution.removeprefix(EXECUTION)
        try:
            data = self._store.get(self._leases.key_of(run_id))
        except (InvalidRequest, NotFound):
            raise NotFound(execution) from None
        try:
            asked = requested_by(data)
        except ValueError as error:
            remedy = "remove that object while the run is not at work"
            raise LedgerBroken(f"{self._leases.key_of(run_id)} is not whole ({error}); {remedy}") from error
        return Execution(MACHINE, run_id, self.running(execution), asked)

    def enter(self, run_id: str, state: str, given: Any) -> None:
        """Note the state that a run of this process enters now."""
        self._entered[execution_of(run_id)] = Entered(state, given)

    def entered(self, execution: str) -> Entered:
        try:
            return self._entered[execution]
        except KeyError:
            raise NotFound(execution) from None


class _Renewed:
    """A lease that this process holds, until it is over, or lost."""

    def __init__(self, store: S3WorkStore, key: str, body: bytes) -> None:
        self._store, self._key, self._body = store, key, body
        self._renewed, self._is_lost = _now(), False
        self.is_over = threading.Event()

    def renew(self) -> None:
        """Renew the lease until it is over."""
        while not self._is_lost and not self.is_over.wait(RENEW_SECONDS):
            asked = _now()
            try:
                found = self._store.read_version(self._key)
                if found.data != self._body:
                    raise PreconditionFailed(f"{self._key} is the lease of another process")
                self._store.write_version(self._key, self._body, found.version)
                self._renewed = asked
            except PreconditionFailed:
                self._is_lost = True
            except FanoutError:
                continue  # S3 may answer the next time; ``watch`` knows how long that may take

    def watch(self, lost: Callable[[], None]) -> None:
        """Call ``lost`` where the lease is another's, or could not be renewed: this process must not write then."""
        while not self.is_over.wait(_LOOK_SECONDS):
            if self._is_lost or _now() - self._renewed > GIVE_UP_SECONDS:
                lost()
                return


def requested_by(lease: bytes) -> Any:
    """The request of the run that a lease is of. Raises ``ValueError``."""
    held = json_value(lease)
    if not isinstance(held, dict) or "request" not in held:
        raise ValueError("it names no request")
    return held["request"]


def _body(run_id: str, request: Any) -> bytes:
    """A lease; its nonce is of this process alone."""
    holder = {"host": socket.gethostname(), "process": os.getpid(), "nonce": secrets.token_hex(8)}
    return json.dumps({"run_id": run_id, **holder, "request": request}).encode()


def _now() -> float:
    """Seconds that also pass while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
