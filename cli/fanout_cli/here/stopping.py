"""``fanout local stop``: a note in the ledger asks the process of a run to stop, as Ctrl-C does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fanout.ledger.run_places import LOCKS
from fanout.model.errors import FanoutError, NotFound
from fanout.runtime.embedded.leases import LEASE_SECONDS
from fanout_cli.command_error import CommandError
from fanout_cli.here.ledger import HereLedger

# Chosen: how soon a process sees the note; each look at a bucket is a request.
_LOOK_SECONDS, _LOOK_SECONDS_BUCKET = 0.5, 5.0
# Chosen: a process that hangs is named after so long; it has a grace of three seconds itself. In a bucket the lease of
# one that was killed must end meanwhile.
_PATIENCE_SECONDS, _PATIENCE_SECONDS_BUCKET = 30.0, LEASE_SECONDS + 30.0


def ask_to_stop(ledger: HereLedger, run_id: str) -> bool:
    """Have a run stopped by its process, and wait until it is; false for one that had ended.

    Raises ``CommandError`` for a process that does not end.
    """
    if not ledger.is_at_work(run_id):
        return False
    ledger.store.put(_key(run_id), b"{}")
    until = time.monotonic() + (_PATIENCE_SECONDS if ledger.bucket is None else _PATIENCE_SECONDS_BUCKET)
    while ledger.is_at_work(run_id):
        if time.monotonic() > until:
            raise CommandError(
                f"{run_id} was asked to stop and is still at work; look at its process, or press Ctrl-C twice there"
            )
        time.sleep(_pause(ledger) / 2)
    ledger.store.remove([_key(run_id)])
    return True


@contextmanager
def stopped_on_request(ledger: HereLedger, run_id: str) -> Iterator[None]:
    """Send this process SIGINT where somebody asks the run to stop meanwhile."""
    is_over = threading.Event()

    def look() -> None:
        is_left_over = True  # a note from before this process is not meant for it
        while not is_over.is_set():
            with suppress(NotFound, FanoutError):  # the next look may be answered
                if is_left_over:
                    ledger.store.remove([_key(run_id)])
                    is_left_over = False
                ledger.store.get(_key(run_id))
                os.kill(os.getpid(), signal.SIGINT)
                return
            is_over.wait(_pause(ledger))

    thread = threading.Thread(target=look, name="stop", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()


def _key(run_id: str) -> str:
    return f"{LOCKS}stops/{run_id}.json"


def _pause(ledger: HereLedger) -> float:
    return _LOOK_SECONDS if ledger.bucket is None else _LOOK_SECONDS_BUCKET
