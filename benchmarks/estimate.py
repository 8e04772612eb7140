"""Predicted against actual: the model behind ``fanout estimate`` beside real copies on the simulated EFS.

python -m benchmarks.estimate [--calibration modern/8 legacy ...] [--workers 1 2 4] [--only small ...] [--again]

For each calibration four pairs of short copies by one worker take the place of a probe: what a worker needs to start,
for a small file, for a byte, for a byte of one file alone, and for a creation in one directory. Each pair is a shorter
and a longer copy, so that what they have in common, such as starting an interpreter, is in none of the rates; each is
made three times, and the median counts. From these the forecast predicts copies of other data sets, by more workers
too, which are then made. The figures are kept in the results, for calls that measure other data sets, until
``--again``. In ``modern/8`` time passes eight times as slowly (``benchmarks.lab``), so that the latencies bind. In real
time the processors bind, which tools and simulation share and no function has to: what they take for an entry and a
byte is measured by the same pairs, and is one more limit of the prediction.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.data_sets import DATA_SETS, MIB, DataSet, make
from benchmarks.lab import BINARY, MEMORY, calibration
from benchmarks.measure import Sample, Source, measure
from benchmarks.run import SCRATCH
from fanout.efs.capacity import FileSystemState
from fanout.efs.load import Work, loads_of
from fanout.forecast.copying import Limit
from fanout.forecast.credits import throughput_seconds
from fanout.forecast.forecast import forecast
from fanout.model.file_system import ThroughputMode
from fanout.model.location import MountLocation, S3Location
from fanout.model.shard import Rates
from fanout.request.options import Compare
from fanout.request.parts.limits import Limits
from fanout.request.request import Request

RESULTS = Path(__file__).parent / "results" / "estimate.json"
# The error that is asked for.
MOST_ERROR = 0.1
# How often each pair is copied.
TIMES = 3
# Data set, and its number of files (of MiB, for the big one), for one worker; more workers copy as much more.
CELLS = (
    ("small", 5_000),
    ("32-directories", 5_000),
    ("megabyte", 800),
    ("skewed", 1_500),
    ("one-directory", 900),
    ("big", 448),
)
# The short and the longer copy of each pair: small files, large ones, MiB of one file, files in one directory.
SMALL, BULK, ALONE, FLAT = (1_000, 4_000), (40, 200), (64, 320), (150, 500)
BULK_BYTES = 2 * MIB


@dataclass(frozen=True)
class Bulk(DataSet):
    """Large files over some directories."""

    def files(self, count: int) -> Iterator[tuple[str, int]]:
        """Files of 2 MiB."""
        return ((f"d{number % 8}/file{number:03d}", BULK_BYTES) for number in range(count))


@dataclass(frozen=True)
class Figures:
    """What a worker needs: seconds to start and for a small file, bytes a second in all and of one file alone;
    creations a second that one directory takes; and seconds of all processors for a small file and for a byte."""

    start_seconds: float
    seconds_per_entry: float
    bytes_per_second: float
    file_bytes_per_second: float
    creations_per_second: float
    processor_seconds_per_entry: float
    processor_seconds_per_byte: float


@dataclass(frozen=True)
class Result:
    """A cell: seconds as predicted and as they were; ``error`` is the difference over the actual ones."""

    data_set: str
    calibration: str
    workers: int
    files: int
    bytes: int
    predicted: float
    actual: float
    binds: str
    error: float


def measure_figures(profile: str) -> Figures:
    """The pairs of short copies, by one worker: what several share is the model's to know."""
    small = _pair(_named("32-directories"), SMALL, profile)
    bulk = _pair(Bulk("bulk", "", 0, 0), BULK, profile)
    alone = _pair(_named("big"), ALONE, profile)
    flat = _pair(_named("one-directory"), FLAT, profile)
    return Figures(
        start_seconds=max(0.0, small.few_seconds - SMALL[0] * small.seconds_each),
        seconds_per_entry=small.seconds_each,
        bytes_per_second=BULK_BYTES / max(1e-6, bulk.seconds_each - small.seconds_each),
        file_bytes_per_second=MIB / alone.seconds_each,
        creations_per_second=1 / flat.seconds_each,
        processor_seconds_per_entry=small.busy_each,
        processor_seconds_per_byte=max(0.0, bulk.busy_each - small.busy_each) / BULK_BYTES,
    )


@dataclass(frozen=True)
class Pair:
    """Seconds of the shorter copy; seconds, and seconds of processors, of each file more in the longer one."""

    few_seconds: float
    seconds_each: float
    busy_each: float


def _pair(data_set: DataSet, counts: tuple[int, int], profile: str) -> Pair:
    few, many = ([_copy(data_set, count, profile, 1) for _ in range(TIMES)] for count in counts)
    more = counts[1] - counts[0]
    few_seconds, many_seconds = (statistics.median(one.seconds for one in copies) for copies in (few, many))
    few_busy, many_busy = (statistics.median(one.busy_seconds for one in copies) for copies in (few, many))
    return Pair(few_seconds, (many_seconds - few_seconds) / more, (many_busy - few_busy) / more)


def predict(files: list[tuple[str, int]], workers: int, figures: Figures, total_mib: float) -> tuple[float, str]:
    """Seconds of the workers by the forecast's model, and the limit that binds."""
    entries, size = len(files), sum(of_one for _, of_one in files)
    directories = Counter(path.rpartition("/")[0] for path, _ in files)
    rates = Rates(
        figures.seconds_per_entry,
        min(figures.bytes_per_second, figures.file_bytes_per_second * max(1, entries // workers)),
    )
    request = Request(
        source=S3Location("source", ""),
        destination=MountLocation("lab", ""),
        compare=Compare.ALWAYS,
        limits=Limits(workers),
    )
    at_work = min(workers, entries)
    work = Work(entries, entries, size, at_work, rates.seconds(entries, size) / at_work, max(directories.values()))
    states = {"lab": FileSystemState(ThroughputMode.ELASTIC, total_mib * MIB)}
    found = forecast(request, work, rates, states, figures.creations_per_second)
    busy = entries * figures.processor_seconds_per_entry + size * figures.processor_seconds_per_byte
    limits = {limit.value: seconds for limit, seconds in found.limit_seconds.items()}
    # All workers copy here, also where the pace would take fewer so that they suffice for the file system.
    limits[Limit.FILE_SYSTEM.value] = throughput_seconds(states["lab"], loads_of(request, work)["lab"])
    limits["processors of this machine"] = busy / (os.cpu_count() or 1)
    binds = max(limits, key=lambda limit: limits[limit])
    return figures.start_seconds + limits[binds], binds


def compare(name: str, count: int, profile: str, workers: int, figures: Figures) -> Result:
    """Predict a data set, then copy it."""
    files = list(_named(name).files(count))
    predicted, binds = predict(files, workers, figures, calibration(profile).get("total_mib_per_second", 1e6))
    actual = _copy(_named(name), count, profile, workers).seconds
    size, error = sum(of_one for _, of_one in files), (predicted - actual) / actual
    return Result(
        name, profile, workers, len(files), size, round(predicted, 2), round(actual, 2), binds, round(error, 3)
    )


def _named(name: str) -> DataSet:
    return next(one for one in DATA_SETS if one.name == name)


def _copy(data_set: DataSet, count: int, profile: str, workers: int) -> Sample:
    """The workers that copy a data set."""
    root = SCRATCH / "source"
    shutil.rmtree(root, ignore_errors=True)
    files, total = make(data_set, count, root)
    return measure(None, Source(root, files, total), profile, workers, SCRATCH)


def main(arguments: list[str] | None = None) -> int:
    """Print the table as it grows; 1 if an error is over ``MOST_ERROR``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calibration", nargs="*", default=["modern/8", "legacy/2", "modern", "legacy"])
    parser.add_argument("--workers", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--only", nargs="*", default=[name for name, _ in CELLS])
    parser.add_argument("--again", action="store_true", help="measure the figures again")
    options = parser.parse_args(arguments)
    if not BINARY.exists() or os.geteuid() != 0:
        print("needs root and .fanout/bench/efslab: run scripts/setup-bench.sh", file=sys.stderr)
        return 2
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"figures": {}, "rows": []}
    rows = {(one["data_set"], one["calibration"], one["workers"]): one for one in known["rows"]}
    found: list[Result] = []
    print("| data set | calibration | workers | files | MB | predicted s | actual s | error | binds |")
    print("|---|---|---|---|---|---|---|---|---|")
    try:
        for profile in options.calibration:
            if options.again or profile not in known["figures"]:
                known["figures"][profile] = asdict(measure_figures(profile))
                _keep(known)
            figures = Figures(**known["figures"][profile])
            for workers in options.workers:
                for data_set, count in CELLS:
                    if data_set in options.only and (workers == 1 or data_set not in ("big", "one-directory")):
                        found.append(compare(data_set, count * workers, profile, workers, figures))
                        print(line(found[-1]), flush=True)
                        rows[data_set, profile, workers] = asdict(found[-1])
                        _keep(known | {"rows": list(rows.values())})
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
        MEMORY.unlink(missing_ok=True)
    return int(any(abs(one.error) > MOST_ERROR for one in found))


def _keep(document: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps({"schema_version": 1} | document, indent=1) + "\n")


def line(one: Result) -> str:
    """A row of the table."""
    cells = (one.data_set, one.calibration, one.workers, f"{one.files:,}", f"{one.bytes / 1e6:,.0f}")
    numbers = (f"{one.predicted:.2f}", f"{one.actual:.2f}", f"{one.error * 100:+.0f}%", one.binds)
    return f"| {' | '.join(map(str, cells + numbers))} |"


if __name__ == "__main__":
    sys.exit(main())
