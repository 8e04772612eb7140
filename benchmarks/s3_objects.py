"""Objects to and from S3: ours beside s5cmd, rclone and aws s3 cp, alternately, on one server and the same data.

    scripts/setup-bench-s3.sh
    .venv/bin/python -m benchmarks.s3_objects [--only SET[:DIRECTION] ...] [--rounds 3] [--tls] [--first-byte-ms 15]

Server, files and objects are in memory and the network is the loopback, so the figures are about the clients.
With ``--efs modern/8`` the files lie in the simulated EFS of that calibration (scripts/setup-bench.sh, root, FUSE), in
a time that passes 8 times as slowly; ``--first-byte-ms`` is real time then, and is multiplied too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import interpreter, process_tree, s3_engine
from benchmarks import lab as efs_lab
from benchmarks.data_sets import DATA_SETS, make
from benchmarks.engine_of_today import engine_of
from benchmarks.lab import Lab as EfsLab
from benchmarks.measure import compare
from benchmarks.s3_lab import BINARY, DATA_BUCKET, WORK_BUCKET, S3Lab, running
from benchmarks.s3_peers import PEERS, Peer

RESULT = Path(__file__).parent / "results/s3_objects.json"
# Of this process alone: two that measure at once do not remove each other's files.
SCRATCH = Path(f"/dev/shm/fanout-bench-s3-{os.getpid()}")
OURS = "fanout"
BESIDE = "fanout of the other checkout"
DIRECTIONS = ("download", "upload")
# Objects, and of the big one MiB.
COUNTS = {"small": 20_000, "megabyte": 2_000, "big": 2_048}
Row = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """What one run of one tool took."""

    seconds: float
    cpu_seconds: float
    peak_rss_mb: float
    server_cpu_seconds: float
    objects: int
    bytes: int


@dataclass(frozen=True)
class Place:
    """Where a tool has its files: in memory, or at a client of the simulated EFS, with another that nothing uses."""

    mount: Path
    unseen: Path
    efs: EfsLab | None = None


@contextmanager
def place_of(calibration_name: str, source: Path, direction: str, files: int, size: int) -> Iterator[Place]:
    """A place that holds the source of an upload, and what it asks for each operation from then on."""
    if not calibration_name:
        yield Place(SCRATCH, SCRATCH)
        return
    with efs_lab.running("none", 1, SCRATCH / "efs", size // (1 << 20) + files // 20 + 64) as efs:
        if direction == "upload":
            shutil.copytree(source, efs.reader / source.name, symlinks=True)
        efs.ask("POST", "/profile", efs_lab.calibration(calibration_name))
        yield Place(efs.mounts[0], efs.reader, efs)


class Bench:
    """One data set and all the tools."""

    def __init__(self, lab: S3Lab, name: str, count: int, calibration_name: str) -> None:
        self._lab, self._calibration = lab, calibration_name
        self._number = 0
        data_set = next(one for one in DATA_SETS if one.name == name)
        self._sources: dict[int, tuple[int, int]] = {}
        for share in {1, *(peer.share for peer in PEERS)} if name == "small" else {1}:
            root = SCRATCH / f"source-{share}"
            shutil.rmtree(root, ignore_errors=True)
            self._sources[share] = make(data_set, max(count // share, 1), root)
            lab.load(root, f"source-{share}/")

    def run(self, tool: Peer | Path, direction: str) -> Sample:
        """Run a tool, or ours of a checkout, once. Raises if the copy is not the source."""
        self._number += 1
        share = tool.share if isinstance(tool, Peer) and tool.share in self._sources else 1
        objects, size = self._sources[share]
        source = SCRATCH / f"source-{share}"
        with place_of(self._calibration, source, direction, objects, size) as place:
            return self._run(tool, direction, share, place)

    def _run(self, tool: Peer | Path, direction: str, share: int, place: Place) -> Sample:
        objects, size = self._sources[share]
        source, copied = place.mount / f"source-{share}", place.mount / f"copy-{self._number}"
        copied.mkdir()
        _touch_memory(size)
        log = SCRATCH / "log"
        try:
            before_cpu = self._lab.cpu_seconds()
            if isinstance(tool, Path):
                local, remote = f"efs:///{copied.name}", f"s3://{DATA_BUCKET}/{copied.name}/"
                ends = (f"s3://{DATA_BUCKET}/source-{share}/", local)
                if direction == "upload":
                    ends = (f"efs:///{source.name}", remote)
                used = s3_engine.copy(self._lab, place.mount, f"run-{self._number}", *ends, objects, log, tool)
            else:
                ends = (f"s3://{DATA_BUCKET}/source-{share}/", f"{copied}/")
                if direction == "upload":
                    ends = (f"{source}/", f"s3://{DATA_BUCKET}/{copied.name}/")
                used = process_tree.run(tool.command(*ends, self._lab.url), self._lab.environment, log)
            server = self._lab.cpu_seconds() - before_cpu
            if place.efs is not None:
                place.efs.at_no_cost()
            if direction == "upload":
                self._lab.save(f"{copied.name}/", copied)
            compare(SCRATCH / source.name, place.unseen / copied.name)
        finally:
            self._lab.remove(f"{copied.name}/")
            self._lab.remove("", WORK_BUCKET)
            shutil.rmtree(copied)
        return Sample(used.seconds, used.cpu_seconds, used.peak_rss_mb, server, objects, size)


def _touch_memory(size: int) -> None:
    """Write and remove that many bytes, so that each tool writes to pages that the machine has touched lately.

    A virtual machine gives freed pages back to its host, and the first to write to one waits up to three times as long.
    """
    touched = SCRATCH / "touched"
    with touched.open("wb") as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    touched.unlink()


def row_of(name: str, direction: str, tool: str, samples: list[Sample]) -> Row:
    """The medians of a tool's runs."""
    one = samples[0]
    return {
        "data_set": name,
        "direction": direction,
        "tool": tool,
        "engine": engine_of(),
        "runs": len(samples),
        "objects": one.objects,
        "bytes": one.bytes,
        "objects_per_s": round(median(one.objects / sample.seconds for sample in samples), 1),
        "mb_per_s": round(median(one.bytes / sample.seconds / 1e6 for sample in samples), 1),
        "cpu_s_per_1000": round(median(sample.cpu_seconds for sample in samples) / one.objects * 1000, 3),
        "peak_rss_mb": round(median(sample.peak_rss_mb for sample in samples), 1),
        "server_cpu_s_per_1000": round(median(sample.server_cpu_seconds for sample in samples) / one.objects * 1000, 3),
        "seconds": [round(sample.seconds, 2) for sample in samples],
    }


def add_ratios(rows: list[Row]) -> None:
    """Ours beside the better s5cmd, and beside the best peer, of the same cell."""
    cells: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row["data_set"], row["direction"]].append(row)
    for cell in cells.values():
        peers = [row for row in cell if row["tool"] not in (OURS, BESIDE)]
        s5cmd = max((row["mb_per_s"] for row in peers if row["tool"].startswith("s5cmd")), default=None)
        best = max((row["mb_per_s"] for row in peers), default=None)
        for row in cell:
            row["ratio_to_s5cmd"] = round(row["mb_per_s"] / s5cmd, 2) if s5cmd else None
            row["ratio_to_best_peer"] = round(row["mb_per_s"] / best, 2) if best else None


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| data set | direction | tool | objects/s | MB/s | CPU s/1000 | peak RSS MB | to s5cmd | to best peer |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    names = ("data_set", "direction", "tool", "objects_per_s", "mb_per_s", "cpu_s_per_1000", "peak_rss_mb")
    for row in rows:
        cells = [f"{row[name]:,}" if isinstance(row[name], float) else str(row[name]) for name in names]
        lines.append(f"| {' | '.join(cells)} | {row['ratio_to_s5cmd']} | {row['ratio_to_best_peer']} |")
    return "\n".join(lines)


def measure(name: str, directions: list[str], options: argparse.Namespace) -> list[Row]:
    """All tools of a data set, one after the other, as often as there are rounds."""
    checkouts = [Path(), *([options.beside] if options.beside else [])]
    tools: list[Peer | Path] = [
        *checkouts,
        *(peer for peer in PEERS if peer.is_installed and _named(peer, options.tools)),
    ]
    samples: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    slower = int(options.efs.partition("/")[2] or 1)
    with running(tls=options.tls, first_byte_ms=options.first_byte_ms * slower) as lab:
        bench = Bench(lab, name, options.objects or COUNTS[name], options.efs)
        for number in range(options.rounds):
            for direction in directions:
                # In turn, so that no tool always follows the same one.
                for tool in tools[number % len(tools) :] + tools[: number % len(tools)]:
                    sample = bench.run(tool, direction)
                    label = tool.name if isinstance(tool, Peer) else BESIDE if tool == options.beside else OURS
                    samples[direction, label].append(sample)
                    print(f"{name} {direction} {number + 1} {label}: {_line(sample)}", file=sys.stderr, flush=True)
    count = options.objects or COUNTS[name]
    how = {"count": count, "tls": options.tls, "first_byte_ms": options.first_byte_ms, "efs": options.efs}
    return [row_of(name, direction, tool, found) | how for (direction, tool), found in sorted(samples.items())]


def _line(sample: Sample) -> str:
    rate, mb = sample.objects / sample.seconds, sample.bytes / sample.seconds / 1e6
    cpu = f"CPU {sample.cpu_seconds:.2f} of {sample.seconds:.2f} s, server {sample.server_cpu_seconds:.2f} s"
    return f"{rate:,.1f}/s, {mb:,.1f} MB/s, {cpu}, {sample.peak_rss_mb:.0f} MB"


def _named(peer: Peer, names: list[str]) -> bool:
    return not names or peer.name in names


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write the results if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="SET[:DIRECTION]")
    parser.add_argument("--tools", nargs="*", default=[], metavar="PEER", help="'none' for no peer")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="run the engine of this checkout too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--objects", type=int, default=0, help="objects of each set (MiB of the big one)")
    parser.add_argument("--tls", action="store_true", help="the server speaks TLS, as AWS does")
    parser.add_argument("--first-byte-ms", type=int, default=0, help="milliseconds that each request waits")
    parser.add_argument("--efs", default="", metavar="CALIBRATION", help="onto and from the simulated EFS")
    parser.add_argument("--results", type=Path, help="a file that rows of other sets stay in")
    options = parser.parse_args(arguments)
    if not BINARY.exists():
        print(f"{BINARY} is not there: run scripts/setup-bench-s3.sh", file=sys.stderr)
        return 2
    rows: list[Row] = []
    try:
        for name in COUNTS:
            wanted = [d for d in DIRECTIONS if not options.only or {name, f"{name}:{d}"} & set(options.only)]
            if wanted:
                shutil.rmtree(SCRATCH, ignore_errors=True)
                SCRATCH.mkdir(parents=True)
                rows += measure(name, wanted, options)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    add_ratios(rows)
    if options.results:
        write(options.results, rows)
    print(table(rows))
    return 0


def _cell(row: Row) -> tuple[Any, ...]:
    """What is compared."""
    return tuple(row.get(name) or "" for name in ("data_set", "direction", "count", "tls", "first_byte_ms", "efs"))


def write(path: Path, rows: list[Row]) -> None:
    """Replace the rows of the cells that were measured."""
    measured = {_cell(row) for row in rows}
    before = json.loads(path.read_text())["rows"] if path.exists() else []
    kept = [row for row in before if _cell(row) not in measured]
    document = {
        "schema_version": 1,
        "date": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, Linux {platform.release().split('-')[0]}",
        "python": interpreter.version_line(),
        "versions": {peer.name: peer.version_line() for peer in PEERS if peer.is_installed},
        "rows": kept + rows,
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
