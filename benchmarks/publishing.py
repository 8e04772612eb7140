"""Publishing a tree of which 1 % changed, beside a copy of all, a run that finds nothing to do, and rsync --link-dest.

    scripts/setup-bench.sh; scripts/setup-bench-s3.sh
    .venv/bin/python -m benchmarks.publishing [--files 100000] [--calibration modern modern/16] [--rounds 3]
        [--rsync-rounds 1] [--functions 1] [--results benchmarks/results/publishing.json]

From S3 onto the simulated EFS, which needs root, FUSE and Go. Ours is every function of a run, one after the other, in
one process on one mount: plan, check, list, partition, copy, finish, publish, summarise. With more ``--functions`` as
many processes copy shards at once, as in a deployed run, each on a mount of its own. rsync reads the same files
from memory. Each run has a mount of its own, so that no client has anything in its cache. A round changes every
hundredth file, and its runs take turns; the run that finds nothing to do follows the copy that it looks at.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import interpreter, process_tree, s3_engine, s3_lab
from benchmarks import lab as efs_lab
from benchmarks.measure import OPERATIONS, compare
from benchmarks.no_change import SETTLE_SECONDS, make_tree
from fanout.model.document import Json

RESULT = Path(__file__).parent / "results/publishing.json"
SCRATCH = Path("/dev/shm/fanout-bench-publishing")
CHANGED_EVERY = 100
ASKED = 1.3
PUBLISH, COPY, NO_CHANGE, RSYNC = "publish", "copy of all", "no-change run", "rsync --link-dest"
FIRST_BYTE_MS = 15
TIMEOUT_SECONDS = 7200.0
MIB = 1 << 20
PAGE = 4096


@dataclass(frozen=True)
class Sample:
    """What one run took, and the operations that the file system counted."""

    seconds: float
    cpu_seconds: float
    operations: dict[str, int]


class Bench:
    """A source in a bucket and in memory, and a file system with the trees of every tool."""

    def __init__(
        self, files: int, calibration: str, s3: s3_lab.S3Lab, efs: efs_lab.Lab, keep: int, functions: int = 1
    ) -> None:
        self._calibration, self._s3, self._efs, self._functions = calibration, s3, efs, functions
        self._mounts = iter(efs.mounts)
        self._source, self._log, self._files = SCRATCH / "source", SCRATCH / "log", files
        self._publish = {"link": "current", "keep": keep, "keep_hours": 0}
        self._version, self._mirror = "publish-0", "mirror-0"
        make_tree(self._source, files)
        s3.load(self._source, "source/")
        self._ours(self._version, "site", publish=True)
        (efs.reader / self._mirror).mkdir()
        self._run(["rsync", "-a", f"{self._source}/", f"{efs.reader / self._mirror}/"])
        compare(self._source, efs.reader / "site/current")

    def change(self, number: int) -> None:
        """Write every hundredth file anew, others in each round, and put it into the bucket."""
        changed = SCRATCH / "changed"
        for path in _files_below(self._source)[number % CHANGED_EVERY :: CHANGED_EVERY]:
            target = changed / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"%1024d" % (self._files + number))
        shutil.copytree(changed, self._source, dirs_exist_ok=True)
        self._s3.load(changed, "source/")
        shutil.rmtree(changed)
        time.sleep(SETTLE_SECONDS)

    def round(self, number: int, tools: Sequence[str]) -> Iterator[tuple[str, Sample]]:
        """Each tool in turn on the same change."""
        self.change(number)
        for tool in tools:
            if tool == PUBLISH:
                yield tool, self._measured(lambda mount: self._published(f"publish-{number}", mount))
            elif tool == RSYNC:
                yield tool, self._measured(lambda mount: self._linked_by_rsync(f"mirror-{number}", mount))
            else:
                yield COPY, self._measured(lambda mount: self._copied(f"copy-{number}", "copied", mount))
                compare(self._source, self._efs.reader / f"copy-{number}")
                yield NO_CHANGE, self._measured(lambda mount: self._copied(f"copy-{number}", "unchanged", mount))

    def _measured(self, run: Any) -> Sample:
        """A run on a mount of its own, in the time of the calibration; then nothing costs anything again."""
        os.sync()
        mount = next(self._mounts)
        self._efs.ask("POST", "/profile", efs_lab.calibration(self._calibration))
        self._efs.ask("POST", "/reset")
        try:
            used, check = run(mount)
            counted = self._efs.counters()
        finally:
            self._efs.at_no_cost()
        check()
        return Sample(used.seconds, used.cpu_seconds, {name: counted[name] for name in OPERATIONS if counted[name]})

    def _published(self, version: str, mount: Path) -> tuple[process_tree.Used, Any]:
        before, self._version = self._version, version
        used = self._ours(version, "site", mount, publish=True)
        return used, lambda: self._check(f"site/versions/{before}", "site/current")

    def _linked_by_rsync(self, mirror: str, mount: Path) -> tuple[process_tree.Used, Any]:
        before, self._mirror = self._mirror, mirror
        used = self._run(["rsync", "-a", f"--link-dest={mount / before}", f"{self._source}/", f"{mount / mirror}/"])
        return used, lambda: self._check(before, mirror)

    def _copied(self, name: str, result: str, mount: Path) -> tuple[process_tree.Used, Any]:
        used = self._ours(f"{name}-{result}", name, mount)
        totals = json.loads(self._log.read_text().splitlines()[-1])["totals"]

        def check() -> None:
            if totals[result]["bytes"] != totals["listed"]["bytes"]:
                raise RuntimeError(f"all should be {result}: {totals}")

        return used, check

    def _ours(self, run_id: str, path: str, mount: Path | None = None, *, publish: bool = False) -> process_tree.Used:
        bucket = s3_lab.DATA_BUCKET
        request: Json = {"source": f"s3://{bucket}/source/", "destination": f"efs:///{path}"}
        request |= {"publish": self._publish} if publish else {}
        command = [interpreter.of_worker(), "-m", "benchmarks.publishing_run", run_id, json.dumps(request)]
        if mount is not None:
            command += [str(next(self._mounts)) for _ in range(self._functions - 1)]
        return self._run(command, s3_engine.environment_of(self._s3, mount or self._efs.reader))

    def _run(self, command: list[str], environment: dict[str, str] | None = None) -> process_tree.Used:
        return process_tree.run(command, environment or {}, self._log, TIMEOUT_SECONDS)

    def _check(self, before: str, after: str) -> None:
        """The new tree is the source, and shares every file but the changed ones with the one before."""
        compare(self._source, self._efs.reader / after)
        old, new = (inodes(self._efs.reader / tree) for tree in (before, after))
        shared = sum(old[path] == inode for path, inode in new.items())
        if shared != self._files - len(range(0, self._files, CHANGED_EVERY)):
            raise RuntimeError(f"{after} shares {shared} files with {before}")


def _files_below(root: Path) -> list[Path]:
    return sorted(path.relative_to(root) for path in root.rglob("file*"))


def inodes(root: Path) -> dict[str, int]:
    """The inode number of each file below a directory."""
    found: dict[str, int] = {}
    for directory, _, _ in os.walk(f"{root}/"):
        with os.scandir(directory) as entries:
            found |= {os.path.relpath(one.path, root): one.inode() for one in entries if not one.is_dir()}
    return found


@contextmanager
def prepared(
    files: int, calibration: str, rounds: int, first_byte_ms: int, keep: int, functions: int = 1
) -> Iterator[Bench]:
    """A bench whose first version and first mirror are there, at no cost."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    slower = int(calibration.partition("/")[2] or 1)
    memory_mib = files * PAGE * (rounds + 3) // MIB + 256
    try:
        with (
            s3_lab.running(first_byte_ms=first_byte_ms * slower) as s3,
            efs_lab.running("none", 4 * rounds * functions, SCRATCH / "efs", memory_mib) as efs,
        ):
            yield Bench(files, calibration, s3, efs, keep, functions)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


def measure(files: int, calibration: str, options: argparse.Namespace) -> Json:
    """The medians of all tools, and how long publishing takes beside what is asked."""
    samples: defaultdict[str, list[Sample]] = defaultdict(list)
    with prepared(files, calibration, options.rounds, options.first_byte_ms, options.keep, options.functions) as bench:
        for number in range(1, options.rounds + 1):
            tools = [PUBLISH, COPY, *([RSYNC] if number <= options.rsync_rounds else [])]
            turn = number % len(tools)
            for tool, sample in bench.round(number, tools[turn:] + tools[:turn]):
                samples[tool].append(sample)
                print(f"{calibration} {number} {tool}: {sample}", file=sys.stderr, flush=True)
    rows = {tool: row_of(found) for tool, found in samples.items()}
    links = rows[PUBLISH]["operations"]["link"]
    about = {"files": files, "calibration": calibration, "keep": options.keep, "functions": options.functions}
    return about | {"tools": rows} | asked(rows[PUBLISH], rows[NO_CHANGE], links, efs_lab.calibration(calibration))


def row_of(samples: Sequence[Sample]) -> Json:
    """The medians of a tool's runs, and the seconds of each."""
    names = [name for name in OPERATIONS if any(name in sample.operations for sample in samples)]
    return {
        "seconds": round(median(sample.seconds for sample in samples), 2),
        "cpu_seconds": round(median(sample.cpu_seconds for sample in samples), 2),
        "runs": [round(sample.seconds, 2) for sample in samples],
        "operations": {name: round(median(one.operations.get(name, 0) for one in samples)) for name in names},
    }


def asked(publish: Json, no_change: Json, links: int, calibration: Json) -> Json:
    """Publishing beside what is asked, a no-change run and so many LINKs, in seconds and in operations.

    The LINKs take as long as with all slots of a client in use.
    """
    seconds = links * calibration["milliseconds"]["link"] / 1000 / calibration["slots"]
    operations = sum(no_change["operations"].values()) + links
    return {
        "seconds_of_links": round(seconds, 2),
        "ratio": round(publish["seconds"] / (no_change["seconds"] + seconds), 2),
        "ratio_of_operations": round(sum(publish["operations"].values()) / operations, 2),
        "asked": ASKED,
    }


def table(found: Json) -> str:
    """The rows of a calibration as Markdown."""
    lines = ["| tool | seconds | CPU s | operations |", "|---|---|---|---|"]
    for tool, row in found["tools"].items():
        operations = ", ".join(f"{name} {count:,}" for name, count in row["operations"].items())
        lines.append(f"| {tool} | {row['seconds']:,} | {row['cpu_seconds']:,} | {operations} |")
    lines.append(
        f"{found['files']:,} files, {found['calibration']}, functions {found['functions']}: "
        f"{found['ratio']} of a no-change run and {found['seconds_of_links']:,} s of LINKs, "
        f"{found['ratio_of_operations']} in operations; asked is {found['asked']}"
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print tables, and write the results if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--calibration", nargs="*", default=["modern", "modern/16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rsync-rounds", type=int, default=1, help="rsync runs in so many rounds: it takes minutes")
    parser.add_argument("--keep", type=int, default=5, help="versions that are kept; others are removed in the time")
    parser.add_argument("--functions", type=int, default=1, help="so many copy shards at once")
    parser.add_argument("--first-byte-ms", type=int, default=FIRST_BYTE_MS, help="what each request to S3 waits")
    parser.add_argument("--results", type=Path, help="a file that rows of other calibrations stay in")
    options = parser.parse_args(arguments)
    for binary in (s3_lab.BINARY, efs_lab.BINARY):
        if not binary.exists():
            print(f"{binary} is not there: run scripts/setup-bench.sh and setup-bench-s3.sh", file=sys.stderr)
            return 2
    for calibration in options.calibration:
        found = measure(options.files, calibration, options)
        print(table(found), flush=True)
        if options.results:
            write(options.results, found)
    return 0


def write(path: Path, found: Json) -> None:
    """Put a measurement where the one of the same files, calibration, versions and functions was."""
    rows: list[Json] = json.loads(path.read_text())["rows"] if path.exists() else []
    same = ("files", "calibration", "keep", "functions")
    kept = [row for row in rows if any(row[name] != found[name] for name in same)]
    about = {
        "date": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, Linux {platform.release().split('-')[0]}",
        "python": interpreter.version_line(),
        "rsync": _rsync_version(),
        "load_before": round(os.getloadavg()[0], 1),
    }
    document = {"schema_version": 1, "rows": sorted([*kept, found | about], key=lambda row: str(row["calibration"]))}
    path.write_text(json.dumps(document, indent=1) + "\n")


def _rsync_version() -> str:
    if shutil.which("rsync") is None:
        return "not installed"
    said = subprocess.run(["rsync", "--version"], capture_output=True, text=True, check=True).stdout
    return said.splitlines()[0].split()[2]


if __name__ == "__main__":
    sys.exit(main())
