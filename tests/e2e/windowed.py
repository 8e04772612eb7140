"""Runs that wait, for a window or for archived objects: other tests go on meanwhile."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fanout_cli.local import LocalStack

MINUTE = 60
# Enough for the run to be planned and its first task to be handed back before the window opens.
AHEAD_SECONDS = 15
FILES = {f"f{number}": b"%d" % number for number in range(20)}


class Windowed(NamedTuple):
    """The run: its execution, and when its window opens, in seconds since 1970."""

    execution: str
    opens: int


def opening() -> int:
    """A whole minute that is soon, in seconds since 1970."""
    return (int(time.time() + AHEAD_SECONDS) // MINUTE + 1) * MINUTE


def times(*moments: int) -> str:
    """Hours and minutes, as a window names them."""
    return "-".join(f"{datetime.fromtimestamp(moment, UTC):%H:%M}" for moment in moments)


def begin_windowed(stack: LocalStack, mount: Path) -> Windowed:
    """Start it."""
    source = mount / "window/in"
    source.mkdir(parents=True)
    for name, data in FILES.items():
        (source / name).write_bytes(data)
    opens = opening()
    window = f"{times(opens, opens - 2 * MINUTE)} UTC"  # closed for two minutes a day
    request = {"source": "efs:///window/in", "destination": "efs:///window/out", "limits": {"window": window}}
    return Windowed(stack.start_execution(request, "windowed"), opens)


def begin_restoring(stack: LocalStack) -> str:
    """Start a run that has S3 restore an archived object, and waits for a minute at least; returns its execution."""
    stack.clients.s3.create_bucket(Bucket="archived")
    stack.clients.s3.put_object(Bucket="archived", Key="in/cold", Body=b"cold", StorageClass="GLACIER")
    stack.clients.s3.put_object(Bucket="archived", Key="in/warm", Body=b"warm")
    request = {
        "source": "s3://archived/in/",
        "destination": "efs:///restored",
        "archived": "restore",
        "restore": {"tier": "expedited", "days": 1},
        "report_entries": "all",
    }
    return stack.start_execution(request, "restoring")
