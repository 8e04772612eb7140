"""Do the rates of a run hold? CopyShard's handler in real worker processes, which fork as when deployed.

    python -m benchmarks.limits [--seconds N] [--workers 1 2 4] [--only NAME ...]

Each case is a run within one mount, a directory in memory, with a ledger on moto's S3, and has three shards for each
worker, so that all of them are at work to the end. What was copied is looked at twice a second from outside; a rate is
that over all time but the first and the last seconds. The last case changes the rate in the middle, as ``fanout limit``
does, and leaves out the 10 seconds after it in which functions hear of it; half of ``--seconds`` is left then.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer
from msgspec import convert
from msgspec.structs import asdict

from benchmarks.own_execution import on_its_own
from benchmarks.s3_engine import MOUNT, deployed
from benchmarks.s3_worker import SECONDS, LambdaContext, handler_of
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts.units import MIB
from fanout.ledger import run_places
from fanout.listing.gather_segments import gather_segments
from fanout.listing.list_segment import list_segment
from fanout.model.document import Json
from fanout.model.segment import Segment
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.runtime.bootstrap import make_context
from fanout.shards.partitioned import SHARDS
from fanout.work.rates.run_limits import LIMITS, RunLimits

BUCKET = "bench-work"
LOOK_SECONDS, EDGE_SECONDS, HEAR_SECONDS = 0.5, 2.0, 10.0
SHARDS_PER_WORKER = 3
BYTES_PER_SECOND, FILES_PER_SECOND = 24.0 * MIB, 200.0


@dataclass(frozen=True)
class Case:
    """Files of a size, the rate that holds, and the one that it is changed to in the middle."""

    name: str
    file_bytes: int
    before: RunLimits
    after: RunLimits | None = None

    def files(self, seconds: float) -> int:
        """How many files keep the rates busy for so long; after a change half of that, and what is not counted."""
        if self.after is None:
            return int(self._files_per_second(self.before) * seconds)
        after = self._files_per_second(self.after) * (seconds / 2 + HEAR_SECONDS)
        return int(self._files_per_second(self.before) * seconds / 2 + after)

    def _files_per_second(self, limits: RunLimits) -> float:
        return limits.files_per_second or (limits.bytes_per_second or 0.0) / self.file_bytes


CASES = (
    Case("bytes", MIB, RunLimits(bytes_per_second=BYTES_PER_SECOND)),
    Case("files", 1024, RunLimits(files_per_second=FILES_PER_SECOND)),
    Case(
        "bytes, halved while it runs",
        MIB,
        RunLimits(bytes_per_second=BYTES_PER_SECOND),
        RunLimits(bytes_per_second=BYTES_PER_SECOND / 2),
    ),
)


@dataclass(frozen=True)
class Seen:
    """What was there at a time."""

    at: float
    files: int
    bytes: int


def shards_of(run_id: str, limits: RunLimits, shard_seconds: float) -> list[Json]:
    """Plan, list and partition; the shards, of so many predicted seconds each."""
    rates = {key: value for key, value in asdict(limits).items() if value is not None}
    wanted = {"shard_seconds": shard_seconds, **rates}
    request = {"source": "efs:///in", "destination": f"efs:///{run_id}", "compare": "always", "limits": wanted}
    alone = replace(make_context(run_id, "", SECONDS), turns=None)  # nobody knows of executions here
    state = plan_transfer(request, on_its_own(alone, request), (MOUNT,), 100, BUCKET)
    check_mount(replace(make_context(run_id, "", SECONDS), turns=None))
    reference = state["list"]
    while reference["count"]:
        ledger = make_context(run_id, "", SECONDS).ledger
        for row in ledger.read_json(reference["key"].removeprefix(ledger.prefix)):
            list_segment(convert(row, Segment), make_context(run_id, "", SECONDS))
        reference = gather_segments(reference["round"], make_context(run_id, "", SECONDS))
    partition_shards(make_context(run_id, "", SECONDS))
    found: list[Json] = make_context(run_id, "", SECONDS).ledger.read_json(SHARDS)
    return found


def work(run_id: str, worker: int, workers: int) -> None:
    """What one worker does: each of its shards until it is done, one task after the other."""
    copy = handler_of("copy_shard")
    run = {"id": run_id, "prefix": run_places.run_prefix(run_id)}
    for row in make_context(run_id, "", SECONDS).ledger.read_json(SHARDS)[worker::workers]:
        event = {"run": run, "shard": row["shard"], "cursor": 0}
        while not event.get("done"):
            event = copy(json.loads(json.dumps(event)), LambdaContext())


def looks(directory: Path, ended: Sequence[subprocess.Popen[bytes]]) -> Iterator[Seen]:
    """What is in a directory, again and again until all processes have ended."""
    while any(one.poll() is None for one in ended):
        sizes = [one.stat().st_size for one in os.scandir(directory) if one.is_file()] if directory.exists() else []
        yield Seen(time.monotonic(), len(sizes), sum(sizes))
        time.sleep(LOOK_SECONDS)


def rate(seen: Sequence[Seen], began: float, ended: float, *, files: bool) -> float:
    """Bytes or files a second between two times."""
    inside = [one for one in seen if began <= one.at <= ended]
    first, last = inside[0], inside[-1]
    moved = last.files - first.files if files else last.bytes - first.bytes
    return moved / (last.at - first.at)


def measured(case: Case, workers: int, root: Path, seconds: float) -> Iterator[tuple[float, float]]:
    """The rates that were to hold, each with the one that was measured."""
    run_id = f"run-{time.monotonic_ns()}"
    source = root / "in"
    source.mkdir(exist_ok=True)
    for old in source.iterdir():
        old.unlink()
    count = case.files(seconds)
    for number in range(count):
        (source / f"f{number:06d}").write_bytes(os.urandom(case.file_bytes))
    shards = SHARDS_PER_WORKER * workers
    shards_of(run_id, case.before, DEFAULT_RATES.seconds(count, count * case.file_bytes) / shards * 1.01)
    command = [sys.executable, "-m", "benchmarks.limits", "--work", run_id]
    processes = [subprocess.Popen([*command, str(worker), str(workers)]) for worker in range(workers)]
    seen: list[Seen] = []
    changed = 0.0
    for one in looks(root / run_id, processes):
        seen.append(one)
        if case.after and not changed and one.bytes and one.at - _begin(seen) >= seconds / 2:
            make_context(run_id, "", SECONDS).ledger.write(LIMITS, case.after)
            changed = one.at
    if any(process.returncode for process in processes):
        raise RuntimeError(f"{case.name}: a worker failed")
    began, last = _begin(seen), seen[-1]
    whole = next(one.at for one in seen if one.files == last.files)
    by_files = case.before.files_per_second is not None
    before_ends = (changed or whole) - EDGE_SECONDS
    yield _wanted(case.before), rate(seen, began + EDGE_SECONDS, before_ends, files=by_files)
    if case.after:
        yield _wanted(case.after), rate(seen, changed + HEAR_SECONDS, whole - EDGE_SECONDS, files=by_files)


def _begin(seen: Sequence[Seen]) -> float:
    return next(one.at for one in seen if one.files)


def _wanted(limits: RunLimits) -> float:
    return limits.files_per_second or limits.bytes_per_second or 0.0


def environment(url: str, root: Path) -> dict[str, str]:
    """The environment of a deployed function."""
    return {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
        "FANOUT_WORK_BUCKET": BUCKET,
        "FANOUT_MOUNTS": json.dumps({MOUNT: str(root)}),
        "POWERTOOLS_SERVICE_NAME": "fanout",
        "POWERTOOLS_METRICS_NAMESPACE": "FanOutTransfer",
        "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    }


def told(case: Case, workers: int, wanted: float, found: float) -> float:
    """Print a rate; by what share it is off."""
    off = found / wanted - 1
    line = f"{case.name}, {workers} workers: {wanted:,.0f} wanted, {found:,.0f} measured, {off * 100:+.1f} %"
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return abs(off)


def main(arguments: list[str]) -> int:
    """Measure every case; 1 where a rate is more than a tenth off."""
    if arguments[:1] == ["--work"]:
        work(arguments[1], int(arguments[2]), int(arguments[3]))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", nargs="+", default=[case.name for case in CASES])
    given = parser.parse_args(arguments)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        root, url = Path(place), f"http://{host}:{port}"
        with deployed(environment(url, root)):
            boto3.client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket=BUCKET)
            worst = max(
                told(case, workers, wanted, found)
                for case in CASES
                if case.name in given.only
                for workers in given.workers
                for wanted, found in measured(case, workers, root, given.seconds)
            )
    server.stop()
    return int(worst > 0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
