"""What the engine's own processor time allows: CopyShard of small files from tmpfs to tmpfs, nothing waits.

python -m benchmarks.ceiling [--files N] [--runs N]     goes on in the interpreter of the engine's workers
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import replace

from benchmarks import interpreter
from benchmarks.data_sets import DATA_SETS, make
from benchmarks.directory_store import DirectoryStore
from benchmarks.engine import partition
from benchmarks.worker import RUN, context_of
from fanout.copying.copy_shard import copy_shard
from fanout.ledger.ledger import Ledger
from fanout.runtime.bootstrap import prepare_processes
from fanout.work.context import never
from fanout.work.processes.crew import begin_crew

SCRATCH = Path("/dev/shm/fanout-ceiling")
RESULT = Path(__file__).parent / "results/ceiling.json"


def copied(source: Path, *, forks: bool) -> tuple[float, float]:
    """Seconds, and seconds of a processor, that the shard takes."""
    for name in ("ledger", "out"):
        shutil.rmtree(SCRATCH / name, ignore_errors=True)
    (SCRATCH / "out").mkdir()
    ledger = Ledger(DirectoryStore(SCRATCH / "ledger"), RUN)
    if forks:
        begin_crew(prepare_processes)
    context = context_of(SCRATCH / "ledger", source, SCRATCH / "out", "only")
    shards = partition(source, 1, ledger)
    context.destination(ledger.read_plan()).check(writing=True)
    began, used = time.monotonic(), _processor()
    for shard in shards:
        copy_shard(shard, context if forks else replace(context, ends=replace(context.ends, forks=never)))
    seconds = time.monotonic() - began
    if context.stack.crew is not None:
        context.stack.crew.close()  # only then the kernel adds the time of its processes to this one's
    return seconds, _processor() - used


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: list[str]) -> int:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    try:
        small = next(one for one in DATA_SETS if one.name == "small")
        files, _ = make(small, options.files, SCRATCH / "source")
        found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for _ in range(options.runs):
            for forks, samples in found.items():
                samples.append(copied(SCRATCH / "source", forks=forks))
        for forks, samples in found.items():
            seconds, processor = (median(column) for column in zip(*samples, strict=True))
            row = {
                "processes": "as deployed" if forks else "one",
                "files": files,
                "files_per_s": round(files / seconds),
            }
            rows.append(row | {"processor_us_a_file": round(1e6 * processor / files, 1)})
            print(rows[-1])
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    RESULT.write_text(
        json.dumps({"python": platform.python_version(), "runs": options.runs, "rows": rows}, indent=1) + "\n"
    )
    return 0


if __name__ == "__main__":
    if sys.executable != interpreter.of_worker():
        os.execv(interpreter.of_worker(), [interpreter.of_worker(), "-m", "benchmarks.ceiling", *sys.argv[1:]])
    sys.exit(main(sys.argv[1:]))
