"""Watching a run until it ends."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, TextIO

from rich.console import Console

from fanout.ledger.ledger import Ledger
from fanout.model.errors import LedgerBroken
from fanout_cli.estimates.forecasts import read_forecast, watched_forecast
from fanout_cli.loudness import is_quiet
from fanout_cli.progress.display import display_on
from fanout_cli.progress.ledger_looks import LedgerLooks
from fanout_cli.progress.map_runs import NewestMap
from fanout_cli.progress.run_progress import progress_of
from fanout_cli.runs.runs import describe_run
from fanout_cli.runs.work_bucket import BucketStore
from fanout_cli.stacks import Stack

LOOK_SECONDS = 1.0
# On AWS every look costs requests.
LOOK_SECONDS_REMOTE = 5.0


def watch_run(stack: Stack, run_id: str, console: Console, json_lines: TextIO | None = None) -> dict[str, Any]:
    """Show the run's forecast and its progress on ``console`` until it ends; returns the execution's description.

    The progress goes to ``json_lines`` instead, as a JSON object a line, if that is given. Ctrl-C ends only the
    watching, by ``KeyboardInterrupt``.
    """
    described = describe_run(stack, run_id)
    ledger = Ledger(BucketStore(stack.client("s3"), stack.work_bucket), run_id)
    looks = LedgerLooks(ledger)
    maps = NewestMap(stack.client("stepfunctions"), stack.execution_arn(run_id))
    pause = LOOK_SECONDS if stack.poll_seconds < LOOK_SECONDS else LOOK_SECONDS_REMOTE
    looked_at = float("-inf")
    is_shown = False
    with display_on(console, json_lines) as display:
        while described["status"] == "RUNNING":
            if time.monotonic() - looked_at >= pause:
                looked_at = time.monotonic()
                with suppress(LedgerBroken):  # it is being written; the next look may find it whole
                    look = looks.look(looked_at, maps.look())
                    display.show(progress_of(look))
                    if look.predicted and not is_shown:
                        is_shown = _tell_forecast(ledger, stack, console)
            time.sleep(stack.poll_seconds)
            described = describe_run(stack, run_id)
    if not is_shown:
        _tell_forecast(ledger, stack, console, is_over=True)
    return described


def _tell_forecast(ledger: Ledger, stack: Stack, console: Console, *, is_over: bool = False) -> bool:
    """Say what is forecast, once it is known; whether it was."""
    found = read_forecast(ledger)
    shown = found is not None and not is_quiet()
    for line in watched_forecast(found, is_local=stack.is_local, is_over=is_over) if found and shown else ():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return found is not None
