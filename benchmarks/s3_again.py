"""A sync that finds nothing, and one that finds a hundredth changed: ours beside rclone and s5cmd, from S3.

    .venv/bin/python -m benchmarks.s3_again [--objects 60000] [--rounds 3] [--first-byte-ms 15]

Each tool copies the tree first, which is not measured, so that each finds what it leaves itself. The server speaks TLS,
files are on tmpfs. Ours is a whole run in one process; the tools are told to compare as their help says is fastest.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks import process_tree, s3_engine
from benchmarks.data_sets import DATA_SETS, make
from benchmarks.measure import compare
from benchmarks.process_tree import Used
from benchmarks.s3_lab import BINARY, DATA_BUCKET, WORK_BUCKET, S3Lab, running
from benchmarks.s3_objects import OURS, RESULT, SCRATCH, Row, Sample, add_ratios, row_of, table, write
from benchmarks.s3_peers import SYNCING, Peer

UNCHANGED, CHANGED = "no change", "1% changed"
DATA_SET = "small"
SHARE = 100


@dataclass(frozen=True)
class Tree:
    """What is at S3, and the part of it that changes."""

    objects: int
    bytes: int
    source: Path
    changed: Path


def prepared(lab: S3Lab, objects: int) -> Tree:
    """A tree at S3, and a hundredth of its files with other data."""
    source, changed = SCRATCH / "source", SCRATCH / "changed"
    data_set = next(one for one in DATA_SETS if one.name == DATA_SET)
    files, size = make(data_set, objects, source)
    for path in sorted(path for path in source.rglob("*") if path.is_file())[::SHARE]:
        other = changed / path.relative_to(source)
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(path.read_bytes()[::-1] + b"+")
    lab.load(source, "source/")
    return Tree(files, size, source, changed)


def measured(lab: S3Lab, tree: Tree, tool: Peer | None, number: int) -> dict[str, Sample]:
    """One tool's first copy, then both syncs. Raises if what it leaves is not the source."""
    lab.load(tree.source, "source/")
    copied, log = SCRATCH / f"copy-{number}", SCRATCH / "log"
    copied.mkdir()
    found = {}
    try:
        _sync(lab, tree, tool, copied, f"run-{number}-first", log)
        for name in (UNCHANGED, CHANGED):
            if name == CHANGED:
                lab.load(tree.changed, "source/")
            before = lab.cpu_seconds()
            used = _sync(lab, tree, tool, copied, f"run-{number}-{name[0]}", log)
            server = lab.cpu_seconds() - before
            found[name] = Sample(used.seconds, used.cpu_seconds, used.peak_rss_mb, server, tree.objects, tree.bytes)
        expected = SCRATCH / "expected"
        shutil.copytree(tree.source, expected)
        shutil.copytree(tree.changed, expected, dirs_exist_ok=True)
        compare(expected, copied)
        shutil.rmtree(expected)
    finally:
        lab.remove("", WORK_BUCKET)
        shutil.rmtree(copied)
    return found


def _sync(lab: S3Lab, tree: Tree, tool: Peer | None, copied: Path, run_id: str, log: Path) -> Used:
    source = f"s3://{DATA_BUCKET}/source/"
    if tool is not None:
        return process_tree.run(tool.command(source, f"{copied}/", lab.url), lab.environment, log)
    request = {"source": source, "destination": f"efs:///{copied.name}", "mode": "sync"}
    return s3_engine.run(lab, SCRATCH, run_id, request, log)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and keep the rows beside those of the first copies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--first-byte-ms", type=int, default=15)
    parser.add_argument("--tools", nargs="*", default=[], metavar="PEER", help="'none' for no peer")
    parser.add_argument("--results", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    if not BINARY.exists():
        print(f"{BINARY} is not there: run scripts/setup-bench-s3.sh", file=sys.stderr)
        return 2
    tools = [
        None,
        *(peer for peer in SYNCING if peer.is_installed and (peer.name in options.tools or not options.tools)),
    ]
    samples: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    try:
        with running(tls=True, first_byte_ms=options.first_byte_ms) as lab:
            tree = prepared(lab, options.objects)
            for number in range(options.rounds):
                for place, tool in enumerate(tools[number % len(tools) :] + tools[: number % len(tools)]):
                    label = tool.name if tool else OURS
                    for what, sample in measured(lab, tree, tool, number * len(tools) + place).items():
                        samples[what, label].append(sample)
                        print(f"{what} {number + 1} {label}: {sample.seconds:.2f} s", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    how: Row = {"count": options.objects, "tls": True, "first_byte_ms": options.first_byte_ms, "efs": ""}
    rows = [row_of(DATA_SET, what, tool, found) | how for (what, tool), found in sorted(samples.items())]
    add_ratios(rows)
    write(options.results, rows)
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
