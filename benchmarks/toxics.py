"""Whole runs over TLS through toxiproxy, whose toxics change every few seconds: does every run end, and tell the truth?

    make toxics SECONDS=3600

S3 and toxiproxy are on the loopback, objects and files in memory. A run goes from S3 to a mount and the next one back.
A task that ends with an error is begun again, as the state machine does it. After each run every object is compared
with its source by the files themselves: one that differs, or is not there and not among the failures, is a break.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import convert

from benchmarks.data_sets import DATA_SETS, make
from benchmarks.own_execution import on_its_own
from benchmarks.s3_engine import MOUNT, SECONDS, deployed, environment_of
from benchmarks.s3_lab import DATA_BUCKET, WORK_BUCKET, S3Lab, running
from benchmarks.s3_worker import LambdaContext, handler_of
from fanout.ledger import run_places
from fanout.listing.gather_segments import gather_segments
from fanout.listing.list_segment import list_segment
from fanout.model.errors import FanoutError
from fanout.model.segment import Segment
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.runtime import bootstrap
from fanout.shards.partitioned import SHARDS
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.work.context import Context

BINARY = Path(".fanout/bench/toxiproxy")
SCRATCH = Path("/dev/shm/fanout-toxics")
# As the state machine's Retry: a run goes on through minutes of trouble.
ATTEMPTS = 20
WAIT_SECONDS = 2.0
Answer = TypeVar("Answer")
# What a toxic gets: its attributes, drawn anew each time. Milliseconds, bytes, KB/s.
TOXICS: dict[str, Callable[[random.Random], dict[str, int]]] = {
    "latency": lambda draw: {"latency": draw.choice((15, 100, 1_000)), "jitter": draw.choice((0, 50))},
    "bandwidth": lambda draw: {"rate": draw.choice((1, 50, 1_000))},
    "slicer": lambda draw: {"average_size": draw.choice((5, 100)), "size_variation": 3, "delay": 10},
    "timeout": lambda draw: {"timeout": draw.choice((0, 500))},  # 0: a stall without an end
    "reset_peer": lambda draw: {"timeout": draw.choice((0, 200))},
    "slow_close": lambda _: {"delay": 2_000},
    "limit_data": lambda draw: {"bytes": draw.choice((100, 5_000, 100_000))},
}


class Toxics:
    """A toxiproxy in front of one server, and the thread that changes its toxics.

    Each phase has a process of its own: toxiproxy 2.12 ends (index out of range) where a toxic comes or goes beside a
    connection. So between two phases every connection breaks, and nobody listens for a moment.
    """

    def __init__(self, upstream: str, seed: int) -> None:
        self.listen, self._upstream = f"127.0.0.1:{_free_port()}", upstream
        self._port, self._draw = _free_port(), random.Random(seed)
        self.told: Counter[str] = Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._change)

    def _change(self) -> None:
        while not self._ended.is_set():
            with self._running():
                self._ended.wait(self._draw.uniform(2, 10))

    @contextmanager
    def _running(self) -> Iterator[None]:
        command = [str(BINARY), "-host", "127.0.0.1", "-port", str(self._port)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._wait()
            proxy = {"name": "s3", "listen": self.listen, "upstream": self._upstream, "enabled": False}
            self._ask("POST", "/proxies", proxy)
            for number in range(self._draw.choice((0, 1, 1, 2, 3))):
                kind = self._draw.choice(sorted(TOXICS))
                self._ask("POST", "/proxies/s3/toxics", {
                    "name": f"{kind}-{number}", "type": kind, "stream": self._draw.choice(("upstream", "downstream")),
                    "toxicity": self._draw.choice((0.02, 0.1, 0.5)), "attributes": TOXICS[kind](self._draw),
                })  # fmt: skip
                self.told[kind] += 1
            self._ask("POST", "/proxies/s3", {"enabled": True})
            yield
        finally:
            process.kill()
            process.wait()

    def _wait(self) -> None:
        for _ in range(100):
            try:
                self._ask("GET", "/proxies")
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"{BINARY} does not answer")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self._port}{path}"
        request = urllib.request.Request(url, data, {"User-Agent": "fanout"}, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")

    def __enter__(self) -> Toxics:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Runs:
    """Runs in one process, each task of them again where it ends with an error."""

    def __init__(self) -> None:
        self.errors: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.copied = self.failed = self.number = 0
        self.breaks: list[str] = []

    def run(self, source: str, destination: str) -> tuple[dict[str, Any], set[str]]:
        """One run; returns its summary and the paths among its failures."""
        self.number += 1
        run_id = f"run-{self.number}"
        request = {"source": source, "destination": destination, "compare": "always"}

        def context() -> Context:
            return bootstrap.make_context(run_id, "", SECONDS)

        state = self._task(lambda: plan_transfer(request, on_its_own(context(), request), (MOUNT,), 1, WORK_BUCKET))
        self._task(lambda: check_mount(context()))
        reference = state["list"]
        while reference["count"]:
            key = reference["key"].removeprefix(context().ledger.prefix)
            for row in self._task(lambda key=key: context().ledger.read_json(key)):  # type: ignore[misc]
                self._task(lambda row=row: list_segment(convert(row, Segment), context()))  # type: ignore[misc]
            number = reference["round"]
            reference = self._task(lambda number=number: gather_segments(number, context()))  # type: ignore[misc]
        self._task(lambda: partition_shards(context()))
        self._copy(run_id, context)
        summary = self._task(lambda: summarise_transfer(None, context()))
        totals = self._task(lambda: context().ledger.read_json("summary.json"))["totals"]
        failures = self._task(lambda: list(context().ledger.read_rows("failures.jsonl")))
        self.copied += totals["copied"]["entries"]
        self.failed += len(failures)
        self.reasons.update(f"{row['reason']}: {row['message'].split(':')[-1].strip()[:60]}" for row in failures)
        return summary, {row["path"] for row in failures}

    def _copy(self, run_id: str, context: Callable[[], Context]) -> None:
        copy, finish = handler_of("copy_shard"), handler_of("finish_tree")
        run = {"id": run_id, "prefix": run_places.run_prefix(run_id)}
        for row in self._task(lambda: context().ledger.read_json(SHARDS)):
            event = {"run": run, "shard": row["shard"], "cursor": 0}
            while not event.get("done"):
                event = self._task(lambda event=event: copy(json.loads(json.dumps(event)), LambdaContext()))  # type: ignore[misc]
        finished = {"done": False}
        while not finished["done"]:  # a round counts as mapped, so FinishTree carries it out itself
            state = {"run": run, "finish": finished}
            finished = self._task(lambda state=state: finish({"run": run, "state": state}, LambdaContext()))  # type: ignore[misc]

    def _task(self, do: Callable[[], Answer]) -> Answer:
        for attempt in range(ATTEMPTS):
            try:
                return do()
            except FanoutError as error:
                self.errors[type(error).__name__] += 1
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(WAIT_SECONDS)
        raise AssertionError("no attempt was made")

    def compare(self, source: Path, copied: Path, failed: set[str], status: str) -> None:
        """Note every file that is not its source, unless it is among the failures."""
        before = len(self.breaks)
        for path in (one for one in source.rglob("*") if one.is_file()):
            name, there = str(path.relative_to(source)), copied / path.relative_to(source)
            if name in failed:
                continue
            if not there.is_file() or there.read_bytes() != path.read_bytes():
                self.breaks.append(f"run-{self.number} ({status}): {name}")
        if bool(failed) is (status == "SUCCEEDED"):
            self.breaks.append(f"run-{self.number}: {status} with {len(failed)} failures")
        _say(f"run-{self.number} {status}: {len(failed)} failed, {len(self.breaks) - before} wrong")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> int:
    """Run until the time is over, and print what was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    runs, began = Runs(), time.monotonic()
    try:
        with running(tls=True) as lab:
            toxics = Toxics(urlsplit(lab.url).netloc, given.seed)
            source = SCRATCH / "source"
            make(next(one for one in DATA_SETS if one.name == "small"), given.objects, source)
            lab.load(source, "source/")
            environment = environment_of(S3Lab(f"https://{toxics.listen}", lab.authorities), SCRATCH) | {
                "POWERTOOLS_METRICS_DISABLED": "true"
            }
            with toxics, deployed(environment):
                while time.monotonic() - began < given.seconds:
                    _pair(runs, lab, source)
            told = dict(toxics.told)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    print(json.dumps({
        "seconds": round(time.monotonic() - began), "runs": runs.number, "objects": given.objects, "toxics": told,
        "copied": runs.copied, "failed": runs.failed, "reasons": runs.reasons.most_common(12),
        "tasks_again": runs.errors, "breaks": runs.breaks[:20],
    }, indent=1))  # fmt: skip
    return 1 if runs.breaks else 0


def _pair(runs: Runs, lab: S3Lab, source: Path) -> None:
    """A run from S3 and one to it."""
    copied = SCRATCH / "copy"
    summary, failed = runs.run(f"s3://{DATA_BUCKET}/source/", "efs:///copy")
    runs.compare(source, copied, failed, summary["status"])
    shutil.rmtree(copied, ignore_errors=True)
    summary, failed = runs.run("efs:///source", f"s3://{DATA_BUCKET}/copy/")
    lab.save("copy/", copied)
    runs.compare(source, copied, failed, summary["status"])
    shutil.rmtree(copied, ignore_errors=True)
    lab.remove("copy/")
    lab.remove("", WORK_BUCKET)


if __name__ == "__main__":
    sys.exit(main())
