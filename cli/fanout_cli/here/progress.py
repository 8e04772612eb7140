"""The progress of a run of this process, by its ledger, from the third second on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fanout.ledger.ledger import Ledger
from fanout.model.errors import FanoutError
from fanout_cli.terminal import Terminal

# Chosen: a run that is shorter needs no progress, and does not load what draws it.
_FIRST_SECONDS, _LOOK_SECONDS = 2.0, 1.0


@contextmanager
def shown_progress(ledger: Ledger, console: Terminal) -> Iterator[None]:
    """Show the progress of what is done inside."""
    is_over = threading.Event()
    thread = threading.Thread(target=_show, args=(ledger, console, is_over), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(_LOOK_SECONDS)


def _show(ledger: Ledger, console: Terminal, is_over: threading.Event) -> None:
    if is_over.wait(_FIRST_SECONDS):
        return
    from fanout_cli.progress.display import display_on
    from fanout_cli.progress.ledger_looks import LedgerLooks
    from fanout_cli.progress.run_progress import progress_of

    looks = LedgerLooks(ledger)
    with display_on(console, None) as display:
        while not is_over.wait(_LOOK_SECONDS):
            with suppress(FanoutError):  # it is being written; the next look may find it whole
                display.show(progress_of(looks.look(time.monotonic())))
