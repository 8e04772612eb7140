"""A second run that finds nothing to do, beside rsync and rclone sync on the same two trees.

    python -m benchmarks.no_change [--files 100000] [--runs 3] [--calibration disk|modern ...]

On ``disk`` both trees lie in a directory; on ``modern`` the destination is the simulated EFS, which needs root.
Ours is what the functions of such a run do: list, gather, partition, summarise, with the ledger in a directory,
in a process of its own. As ``fanout-2`` the listing is cut before it begins, as that of a larger tree is after its
first round, and two processes share the pieces. The caches are cold before every run where that may be done.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from benchmarks.directory_store import DirectoryStore
from benchmarks.lab import running
from benchmarks.measure import drop_caches
from benchmarks.worker import MachineClock
from fanout.adapters.posix.tree import PosixTree
from fanout.domain.rows import Json, segment_from_row
from fanout.domain.segments import Segment, cut
from fanout.ledger import Ledger
from fanout.steps.context import Context
from fanout.steps.gather_segments import gather_segments
from fanout.steps.list_segment import list_segment
from fanout.steps.partition_shards import partition_shards
from fanout.steps.plan_transfer import begin_round, plan_transfer
from fanout.steps.summarise_transfer import summarise_transfer

REQUEST: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync"}
RUN = "no-change"
OURS = {"fanout": 1, "fanout-2": 2}
TOOLS = (*OURS, "rsync", "rclone")
PIECES_EACH = 8
SECONDS = 3600.0
SETTLE_SECONDS = 2.0  # over the margin of the comparison


def make_tree(root: Path, files: int) -> None:
    """Files of 1 KiB, 100 in a directory, two deep."""
    for number in range(files):
        target = root / f"d{number // 10_000:03d}/e{number // 100 % 100:02d}/file{number:07d}"
        if number % 100 == 0:
            target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"%1024d" % number)


def context_of(source: Path, destination: Path, scratch: Path) -> Context:
    """What a function gets: a ledger and two trees."""
    clock = MachineClock()
    return Context(
        ledger=Ledger(DirectoryStore(scratch), RUN),
        clock=clock,
        deadline=clock.now() + SECONDS,
        nonce="bench",
        source=lambda _: PosixTree(source, "", RUN, "bench", "source"),
        destination=lambda _: PosixTree(destination, "", RUN, "bench"),
    )


def _list(row: Json, source: Path, destination: Path, scratch: Path) -> None:
    list_segment(segment_from_row(row), context_of(source, destination, scratch))


def run_ours(source: Path, destination: Path, scratch: Path, listers: int = 1) -> Json:
    """The steps of a run that finds everything unchanged; returns its summary."""
    context = context_of(source, destination, scratch)
    plan = plan_transfer(REQUEST, context, ("data",), 100, "work")
    reference = plan["list"]
    if listers > 1:
        whole = Segment("")
        cuts = context.source(context.ledger.read_plan()).cuts(whole, PIECES_EACH * listers)
        reference = begin_round(context, 1, cut(whole, cuts))
    run_segment = partial(_list, source=source, destination=destination, scratch=scratch)
    while reference["count"]:
        rows = context.ledger.read_json(reference["key"].removeprefix(context.ledger.prefix))
        if listers > 1:
            with ProcessPoolExecutor(listers, get_context("fork")) as functions:
                list(functions.map(run_segment, rows))
        else:
            list(map(run_segment, rows))
        reference = gather_segments(reference["round"], context)
    partition_shards(context)
    summarise_transfer(None, context)
    summary: Json = context.ledger.read_json("summary.json")
    return summary


def command_of(tool: str, source: Path, destination: Path, scratch: Path) -> list[str]:
    """The command line of a tool."""
    if tool in OURS:
        ends = [str(source), str(destination), str(scratch)]
        return [sys.executable, "-m", "benchmarks.no_change", "--listers", str(OURS[tool]), "--ours", *ends]
    if tool == "rsync":
        return ["rsync", "-a", "--delete", f"{source}/", f"{destination}/"]
    flags = ["--config", "/dev/null", "--transfers", "64", "--checkers", "64"]
    return ["rclone", "sync", "-q", *flags, str(source), str(destination)]


def measure(source: Path, destinations: Iterator[Path], scratch: Path, runs: int) -> dict[str, float]:
    """The median seconds of each tool that is installed, which take turns, each with the next destination."""
    tools = [tool for tool in TOOLS if tool in OURS or shutil.which(tool)]
    seconds: dict[str, list[float]] = {tool: [] for tool in tools}
    for number in range(runs):
        for tool in tools:
            ledger = scratch / f"ledger-{number}"
            drop_caches()
            began = time.monotonic()
            subprocess.run(command_of(tool, source, next(destinations), ledger), check=True, stdout=subprocess.DEVNULL)
            seconds[tool].append(time.monotonic() - began)
            print(f"  {tool}: {seconds[tool][-1]:.2f} s", flush=True)
            shutil.rmtree(ledger, ignore_errors=True)
    return {tool: median(found) for tool, found in seconds.items()}


def copied(source: Path, destination: Path) -> None:
    """The destination as a run would have left it, times included."""
    destination.mkdir(exist_ok=True)
    time.sleep(SETTLE_SECONDS)
    subprocess.run(["cp", "-a", f"{source}/.", f"{destination}/"], check=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the medians as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calibration", nargs="*", default=["disk", "modern"])
    parser.add_argument("--scratch", type=Path, default=Path(".fanout/bench/no-change"))
    parser.add_argument("--ours", nargs=3, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--listers", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.ours:
        source, destination, scratch = options.ours
        summary = run_ours(source, destination, scratch, options.listers)
        # Bytes, because a directory that a cut lies in counts as one to be set right again.
        return 0 if summary["totals"]["unchanged"]["bytes"] == summary["totals"]["listed"]["bytes"] else 1
    scratch = options.scratch.resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    source = scratch / "source"
    make_tree(source, options.files)
    results: dict[str, dict[str, float]] = {}
    try:
        for name in options.calibration:
            print(name, flush=True)
            if name == "disk":
                copied(source, scratch / "copy")
                results[name] = measure(source, itertools.repeat(scratch / "copy"), scratch, options.runs)
                continue
            # A mount for every run, so that no client has anything in its cache.
            clients = 1 + options.runs * len(TOOLS)
            with running("none", clients, scratch / "mounts", options.files // 20 + 64) as lab:
                copied(source, lab.mounts[0] / "copy")
                fresh = (mount / "copy" for mount in lab.mounts[1:])
                lab.ask("POST", f"/profile?name={name}")
                results[name] = measure(source, fresh, scratch, options.runs)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps({"files": options.files, "seconds": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
