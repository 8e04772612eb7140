"""Watching a run until it ends: a bar with files, bytes, rate, time left, workers and failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn
from rich.progress import Progress as Bar

from fanout.ledger.ledger import Ledger
from fanout.model.errors import LedgerBroken
from fanout.model.shard import Rates
from fanout.shards.seconds import DEFAULT_RATES
from fanout_cli.forecasts import read_forecast, say_forecast
from fanout_cli.runs.map_runs import MapCounts, MapRuns
from fanout_cli.runs.progress import BucketStore, LedgerWatch, Progress, eta_seconds
from fanout_cli.runs.runs import describe_run
from fanout_cli.stacks import Stack

LOOK_SECONDS = 1.0
# On AWS every look costs requests.
LOOK_SECONDS_REMOTE = 5.0
PHASES = {"ListTree": "listing", "CopyShards": "copying", "DeleteShards": "deleting", "VerifyShards": "verifying"}


def watch_run(stack: Stack, run_id: str, console: Console) -> dict[str, Any]:
    """Show the run's forecast and its progress on ``console`` until it ends; returns the execution's description.

    Ctrl-C ends only the watching, by ``KeyboardInterrupt``.
    """
    described = describe_run(stack, run_id)
    ledger = Ledger(BucketStore(stack.client("s3"), stack.work_bucket), run_id)
    told = False
    with _bar(stack, run_id, console) as look:
        while described["status"] == "RUNNING":
            if look() and not told:
                told = _tell_forecast(ledger, console)
            time.sleep(stack.poll_seconds)
            described = describe_run(stack, run_id)
    if not told:
        _tell_forecast(ledger, console)
    return described


def _tell_forecast(ledger: Ledger, console: Console) -> bool:
    """Say what is forecast, once it is known; whether it was."""
    found = read_forecast(ledger)
    if found is not None:
        say_forecast(found, console)
    return found is not None


@contextmanager
def _bar(stack: Stack, run_id: str, console: Console) -> Iterator[Callable[[], bool]]:
    """A function that looks at the run, if it is time to, and says whether its shards are known."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[details]}"),
        TimeElapsedColumn(),
    )
    store = BucketStore(stack.client("s3"), stack.work_bucket)
    ledger = LedgerWatch(store, run_id)
    maps = MapRuns(stack.client("stepfunctions"), stack.execution_arn(run_id))
    pause = LOOK_SECONDS if stack.poll_seconds < LOOK_SECONDS else LOOK_SECONDS_REMOTE
    rates: Rates | None = None
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("listing", total=None, details="")
        looked_at = copying_since = float("-inf")

        def look() -> bool:
            nonlocal looked_at, copying_since, rates
            now = time.monotonic()
            if now - looked_at < pause:
                return False
            looked_at = now
            counts = maps.look()
            progress = ledger.look(counts)
            phase = PHASES.get(counts.label, "working") if counts is not None else "listing"
            if progress is None:
                bar.update(task, description=phase, details=_segments(counts))
                return False
            rates = rates or _rates(Ledger(store, run_id))
            copying_since = now if copying_since < 0 else copying_since
            workers = counts.running if counts is not None and counts.label == "CopyShards" else 0
            left = eta_seconds(progress, rates, now - copying_since, workers)
            bar.update(
                task,
                description="copying" if phase == "listing" else phase,
                total=progress.total_bytes,
                completed=progress.bytes,
                details=details(progress, workers, left),
            )
            return True

        yield look


def _segments(counts: MapCounts | None) -> str:
    return f"{counts.done:,} of {counts.total:,} segments" if counts is not None and counts.total else ""


def _rates(ledger: Ledger) -> Rates:
    try:
        return ledger.read_plan().rates
    except LedgerBroken:
        return DEFAULT_RATES


def details(progress: Progress, workers: int, left_seconds: float | None) -> str:
    """What stands beside the bar."""
    parts = [f"{progress.entries:,}/{progress.total_entries:,} entries"]
    if workers:
        parts.append(f"{workers:,} workers")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if left_seconds is not None:
        parts.append(f"{duration(left_seconds)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    return f"{round(whole / 60)} min" if whole < 5_400 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
