"""Ours in the S3 benchmark: a whole run in one process, in the environment of a deployed function."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import convert

from benchmarks import interpreter, process_tree
from benchmarks.own_execution import on_its_own
from benchmarks.process_tree import Used
from benchmarks.s3_lab import WORK_BUCKET, S3Lab
from fanout.listing.gather_segments import gather_segments
from fanout.listing.list_segment import list_segment
from fanout.model.document import Json
from fanout.model.outcome import Result
from fanout.model.segment import Segment
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.runtime import bootstrap, clients
from fanout.work.context import Context

MOUNT = "data"
SECONDS = 880.0


def copy(
    lab: S3Lab,
    mount: Path,
    run_id: str,
    source: str,
    destination: str,
    entries: int,
    log: Path,
    checkout: Path = Path(),
) -> Used:
    """What a whole run takes, from its plan to its summary, in one process of a checkout.

    Raises unless it copies so many entries.
    """
    used = run(lab, mount, run_id, {"source": source, "destination": destination, "compare": "always"}, log, checkout)
    with deployed(environment_of(lab, mount)):
        totals = _context(run_id).ledger.read_json("summary.json")["totals"]
    copied, listed = totals[Result.COPIED.value]["entries"], totals["listed"]["entries"]
    if copied != listed or copied < entries:  # directories are entries too
        raise RuntimeError(f"{entries} files, but the run's totals are {totals}")
    return used


def run(lab: S3Lab, mount: Path, run_id: str, request: Json, log: Path, checkout: Path = Path()) -> Used:
    """What a whole run of a request takes in one process of a checkout. Raises unless it succeeded."""
    worker = [interpreter.of_worker(checkout), "-m", "benchmarks.s3_worker", run_id, "--whole", json.dumps(request)]
    environment = environment_of(lab, mount) | interpreter.deployed(checkout)
    return process_tree.run(worker, environment, log, directory=checkout)


def prepare(request: Json, run_id: str) -> int:
    """Plan, list and partition, in an environment of a function; returns the number of shards."""
    state = plan_transfer(request, on_its_own(_context(run_id), request), (MOUNT,), 1, WORK_BUCKET)
    check_mount(_context(run_id))
    reference = state["list"]
    while reference["count"]:
        ledger = _context(run_id).ledger
        for row in ledger.read_json(reference["key"].removeprefix(ledger.prefix)):
            list_segment(convert(row, Segment), _context(run_id))
        reference = gather_segments(reference["round"], _context(run_id))
    count: int = partition_shards(_context(run_id))["count"]
    return count


def environment_of(lab: S3Lab, mount: Path) -> dict[str, str]:
    """The environment of a deployed function, with the interpreter's path for this checkout."""
    return lab.environment | {
        "FANOUT_WORK_BUCKET": WORK_BUCKET,
        "FANOUT_MOUNTS": json.dumps({MOUNT: str(mount)}),
        "POWERTOOLS_SERVICE_NAME": "fanout",
        "POWERTOOLS_METRICS_NAMESPACE": "FanOutTransfer",
    }


def _context(run_id: str) -> Context:
    return bootstrap.make_context(run_id, "", SECONDS)


@contextmanager
def deployed(environment: Mapping[str, str]) -> Iterator[None]:
    """This process as a function of that environment."""
    caches = (clients.settings, clients.stack_client, clients._data_client)
    before = dict(os.environ)
    os.environ.update(environment)
    for cached in caches:
        cached.cache_clear()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        for cached in caches:
            cached.cache_clear()
