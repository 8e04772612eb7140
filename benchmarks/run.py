"""Runs the benchmark: ours and the peers, alternately, on the same data.

python -m benchmarks.run [--full | --slow] [--only DATA_SET[:CALIBRATION] ...] [--tools TOOL ...] [--runs N]

With --only a piece is measured: its cells take the place of the same ones in the results that are there,
so that a machine that is quiet for minutes at a time can measure them all. --slow measures in a time that passes
more slowly, beside what the other sets left in the results.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import cells, interpreter, report
from benchmarks.bounds import BARE, bound
from benchmarks.cells import Cell
from benchmarks.data_sets import DATA_SETS, DataSet, make
from benchmarks.lab import BINARY, MEMORY, calibration
from benchmarks.measure import ResultDiffers, Sample, Source, measure
from benchmarks.peers import PEERS, Peer, version_of

RESULTS = Path(__file__).parent / "results"
SCRATCH = Path("/dev/shm/fanout-bench")
Tool = tuple[Peer | None, int]


def main(arguments: list[str] | None = None) -> int:
    """Measure the cells and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all data sets at full size: hours")
    parser.add_argument("--slow", action="store_true", help="what the latencies allow where processors do not bind")
    parser.add_argument("--only", nargs="*", default=[], metavar="DATA_SET[:CALIBRATION]")
    parser.add_argument("--tools", nargs="*", default=[], metavar="TOOL", help="these alone; ours is fanout")
    parser.add_argument("--count", type=int, help="files (MiB of the big one) instead of the set's own number")
    parser.add_argument("--workers", type=int, nargs="*", help="numbers of workers of ours instead of the set's own")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if not BINARY.exists() or os.geteuid() != 0:
        print("needs root and .fanout/bench/efslab: run scripts/setup-bench.sh", file=sys.stderr)
        return 2
    known = cells.SLOW if options.slow else cells.FULL if options.full else cells.SHORT
    chosen = [cell for cell in known if _wanted(cell, options.only)]
    if options.count:
        chosen = [replace(cell, count=options.count) for cell in chosen]
    if options.workers:
        chosen = [replace(cell, workers=tuple(options.workers)) for cell in chosen]
    before = [row for row in report.read(options.results) if options.only or is_slow(row) is not options.slow]
    rows: list[report.Row] = []
    began = time.time()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # unmounts before it ends
    try:
        for cell in chosen:
            found: list[report.Row] = []
            for found in measure_cell(cell, options.runs, options.tools):
                report.add_ratios(found)
                report.write(options.results, about(options, began), report.merged(before, rows + found))
            rows += found
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
        MEMORY.unlink(missing_ok=True)
    print(report.table(rows))
    return 0


def is_slow(row: report.Row) -> bool:
    """Whether a row is of a time that passes more slowly."""
    return "/" in row["calibration"]


def _wanted(cell: Cell, only: list[str]) -> bool:
    return not only or cell.data_set in only or f"{cell.data_set}:{cell.calibration}" in only


def measure_cell(cell: Cell, runs: int, only: list[str]) -> Iterator[list[report.Row]]:
    """All tools of a cell in turn, every other time in the opposite order; its rows after each of ``runs``."""
    data_set = next(one for one in DATA_SETS if one.name == cell.data_set)
    source = _source(data_set, cell.count, "source")
    slow_count = max(cell.count // cell.slow_share, 1)
    slow = source if slow_count == cell.count else _source(data_set, slow_count, "part")
    peers = [peer for peer in PEERS if not cell.peers or peer.name in cell.peers]
    tools: list[Tool] = [(None, workers) for workers in cell.workers if not only or report.OURS in only]
    for peer in [peer for peer in peers if not only or peer.name in only]:
        if peer.missing:
            print(f"  {peer.name}: not installed ({', '.join(peer.missing)})", flush=True)
        else:
            tools.append((peer, 1))
    samples: dict[Tool, list[Sample]] = {tool: [] for tool in tools}
    for number in range(runs):
        for tool, workers in tools[:: -1 if number % 2 else 1]:
            part = slow if tool and tool.name in cells.ONE_AT_A_TIME else source
            name = f"{tool.name if tool else report.OURS} x{workers}"
            try:
                sample = measure(tool, part, cell.calibration, workers, SCRATCH)
            except ResultDiffers as error:
                print(f"{cell.data_set} {cell.calibration} {number + 1} {name}: not counted, {error}", flush=True)
                continue
            samples[tool, workers].append(sample)
            rate = part.files / sample.seconds
            print(f"{cell.data_set} {cell.calibration} {number + 1} {name}: {rate:,.0f} files/s", flush=True)
        yield _rows(cell, data_set, (source, slow, slow_count), samples)


def _rows(
    cell: Cell, data_set: DataSet, sources: tuple[Source, Source, int], samples: dict[Tool, list[Sample]]
) -> list[report.Row]:
    source, slow, slow_count = sources
    named = {"data_set": cell.data_set, "calibration": cell.calibration, "count": cell.count}
    rows = []
    for (tool, workers), found in samples.items():
        if not found:
            continue
        sequential = tool is not None and tool.name in cells.ONE_AT_A_TIME
        part, count = (slow, slow_count) if sequential else (source, cell.count)
        profile, files = calibration(cell.calibration), list(data_set.files(count))
        whole = bound(profile, files, workers)
        least = whole.seconds, bound(profile, files, workers, BARE).seconds, whole.by
        rows.append(report.row(named, tool.name if tool else report.OURS, workers, part, found, least))
    return rows


def _source(data_set: DataSet, count: int, name: str) -> Source:
    root = SCRATCH / name
    shutil.rmtree(root, ignore_errors=True)
    files, total = make(data_set, count, root)
    return Source(root, files, total)


def without_results(words: list[str]) -> list[str]:
    """The words of a command but for where it writes, which is nobody else's place."""
    if "--results" not in words:
        return words
    at = words.index("--results")
    return words[:at] + words[at + 2 :]


def about(options: argparse.Namespace, began: float) -> report.Row:
    """What made the results."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    command = "make bench-slow" if options.slow else "make bench-full" if options.full else "make bench"
    if options.only or options.runs != 3:
        command = "python -m benchmarks.run " + " ".join(without_results(sys.argv[1:]))
    versions = {peer.name: version_of(peer.version) for peer in PEERS}
    return {
        "schema_version": report.SCHEMA_VERSION,
        "command": command,
        "date": datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - began),
        "machine": f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}",
        "versions": {report.OURS: f"Python {interpreter.version_line()}", **versions},
    }


if __name__ == "__main__":
    sys.exit(main())
