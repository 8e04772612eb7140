"""New files on tmpfs, listed and partitioned by one process, beside fpart and find, in turns.

python -m benchmarks.beside_fpart [--directories 5000] [--files 200] [--rounds 5]

Both ends are mounts, and the destination is empty. The ledger and fpart's partitions, of as many files as a shard, are
written to tmpfs. The medians of the rounds are kept in ``results/beside_fpart.json``; what else the machine does moves
the clock more than the seconds of a processor.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import interpreter
from benchmarks.directory_store import DirectoryStore
from benchmarks.engine_of_today import engine_of
from benchmarks.partition import list_and_partition
from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.ledger.ledger import Ledger

RESULTS = Path(__file__).parent / "results" / "beside_fpart.json"


def make_files(root: Path, directories: int, files: int) -> None:
    """Sparse files of about 20 KB."""
    for number in range(directories):
        folder = root / f"set-{number // 100:04d}/part-{number % 100:03d}"
        folder.mkdir(parents=True)
        for file in range(number * files, (number + 1) * files):
            with (folder / f"file-{file:09d}.dat").open("wb") as made:
                made.truncate(20_000 + file % 977)


def ours(folder: Path) -> None:
    """In this process."""
    (folder / "empty").mkdir()
    source, destination = (PosixTree(folder / name, "", "bench", "bench") for name in ("tree", "empty"))
    ledger = Ledger(DirectoryStore(folder / "out"), "bench")
    list_and_partition(source, destination, ledger, {"source": "efs:///tree", "destination": "efs:///copy"})


def _measured(command: Sequence[str | Path]) -> dict[str, float]:
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, command
    seconds = time.perf_counter() - began
    return {"cpu_seconds": used.ru_utime + used.ru_stime, "seconds": seconds, "rss_mb": used.ru_maxrss / 1024}


def main() -> None:
    """Measure in turns, print the medians, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directories", type=int, default=5_000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--here", type=Path, help="list and partition this folder's tree in this process")
    given = parser.parse_args()
    if given.here:
        ours(given.here)
        return
    found: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        make_files(folder / "tree", given.directories, given.files)
        out = folder / "out"
        commands: dict[str, Sequence[str | Path]] = {
            "fanout": [interpreter.of_worker(), "-m", "benchmarks.beside_fpart", "--here", folder],
            "fpart": ["fpart", "-f", str(tuning.SHARD_ENTRIES), "-o", out / "part", folder / "tree"],
            "fpart -L": ["fpart", "-L", "-f", str(tuning.SHARD_ENTRIES), "-o", out / "part", folder / "tree"],
            "find": ["find", folder / "tree", "-printf", "%s %T@ %p\n"],
        }
        for _ in range(given.rounds):
            for tool, command in commands.items():
                out.mkdir()
                found[tool].append(_measured(command))
                shutil.rmtree(out)
                shutil.rmtree(folder / "empty", ignore_errors=True)
    _keep(given, found)


def _keep(given: argparse.Namespace, found: dict[str, list[dict[str, float]]]) -> None:
    rows = []
    for tool, measured in found.items():
        rows.append(
            {"tool": tool, "engine": engine_of()}
            | {key: round(median(one[key] for one in measured), 2) for key in measured[0]}
        )
        print(rows[-1], flush=True)
    about = {"entries": given.directories * given.files, "rounds": given.rounds, "load": round(os.getloadavg()[0], 1)}
    RESULTS.write_text(json.dumps({"schema_version": 1, **about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
