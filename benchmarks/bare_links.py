"""What linking a tree takes at least: 64 threads, every directory open and read beforehand, and nothing but LINKs.

    python -m benchmarks.bare_links [--files 20000] [--calibration modern/8]

On the simulated EFS (root, FUSE, Go). The order is that of a shard. The second figure has the directories made too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.lab import calibration, running
from benchmarks.no_change import make_tree
from fanout.facts import tuning
from fanout.ledger.shard_order import spread
from fanout.model.entry import Entry, Kind

SCRATCH = Path("/dev/shm/fanout-bench-links")


def link_all(old: Path, new: Path, paths: list[str]) -> tuple[float, float]:
    """Seconds of making the directories and of all; those that are there are left as they are."""
    began = time.monotonic()
    directories = sorted({path.rpartition("/")[0] for path in paths})
    with ThreadPoolExecutor(tuning.CLIENT_OPERATIONS_IN_FLIGHT) as pool:
        list(pool.map(lambda one: (new / one).mkdir(parents=True, exist_ok=True), directories))
        made = time.monotonic() - began
        ends = list(pool.map(lambda one: [os.open(tree / one, os.O_RDONLY) for tree in (old, new)], directories))
        opened = dict(zip(directories, ends, strict=True))
        list(pool.map(lambda one: os.listdir(one[0]), ends))

        def link(path: str) -> None:
            directory, _, name = path.rpartition("/")
            source, target = opened[directory]
            os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)

        list(pool.map(link, paths))
        seconds = time.monotonic() - began
    for source, target in ends:
        os.close(source)
        os.close(target)
    return made, seconds


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--calibration", default="modern/8")
    options = parser.parse_args(arguments)
    try:
        with running("none", 2, SCRATCH, options.files // 20 + 64) as efs:
            make_tree(efs.reader / "old", options.files)
            files = (path for path in (efs.reader / "old").rglob("file*"))
            found = sorted(str(path.relative_to(efs.reader / "old")) for path in files)
            paths = [one.path for one in spread(Entry(path, Kind.FILE) for path in found)]
            for path in paths:
                (efs.reader / "made" / path).parent.mkdir(parents=True, exist_ok=True)
            for mount, new in zip(efs.mounts, ("made", "not-made"), strict=True):
                efs.ask("POST", "/profile", calibration(options.calibration))
                efs.ask("POST", "/reset")
                made, seconds = link_all(mount / "old", mount / new, paths)
                counted = {name: count for name, count in efs.counters().items() if count}
                efs.at_no_cost()
                print(f"{new}: {seconds:.2f} s, of which {made:.2f} s for directories; {counted}", flush=True)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
