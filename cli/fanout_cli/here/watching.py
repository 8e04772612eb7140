"""``fanout local watch``: the progress of a run that another process carries out, by its ledger."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from fanout.model.errors import FanoutError
from fanout_cli.here.ledger import HereLedger
from fanout_cli.progress.display import display_on
from fanout_cli.progress.ledger_looks import LedgerLooks
from fanout_cli.progress.run_progress import progress_of
from fanout_cli.terminal import Terminal

_LOOK_SECONDS, _LOOK_SECONDS_BUCKET = 1.0, 5.0


def watch_here(ledger: HereLedger, run_id: str, console: Terminal, *, in_lines: bool) -> None:
    """Show the progress of a run until it is at work no more; ``in_lines`` on standard output, an object a line."""
    pause = _LOOK_SECONDS if ledger.bucket is None else _LOOK_SECONDS_BUCKET
    looks = LedgerLooks(ledger.of_run(run_id))
    with display_on(console, sys.stdout if in_lines else None) as display:
        while ledger.is_at_work(run_id):
            with suppress(FanoutError):  # it is being written; the next look may find it whole
                display.show(progress_of(looks.look(time.monotonic())))
            time.sleep(pause)
