"""Finishing on the simulated EFS: directories and further names, by FinishTree alone and by 1, 2 and 4 workers.

python -m benchmarks.finishing [--directories 200000] [--names 20000] [--workers 1 2 4] [--profile modern]
                               [--scratch DIRECTORY]

Needs root and .fanout/bench/efslab (scripts/setup-bench.sh). Prints a row of JSON for each number of workers. A tree is
made at no cost: directories, one of them with the first names of all files. Then the latencies begin, and FinishTree
and the workers finish it by the ledger. Every directory and every name is looked at afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from benchmarks import interpreter, lab
from benchmarks.directory_store import DirectoryStore
from benchmarks.worker import RUN, context_of
from fanout.adapters.posix.tree import PosixTree
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import aws
from fanout.finishing.finish_tree import finish_tree
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import link_row
from fanout.model.books import Count
from fanout.model.entry_outcome import Outcome
from fanout.model.location import MountLocation
from fanout.model.outcome import Result
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.request.parts.limits import Limits
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.shards.made_directories import MadeDirectory
from fanout.shards.partitioned import LINKS, SHARDS, Links, LinkShard
from fanout.shards.record import Record, write_outcomes
from fanout.shards.round_records import RoundRecord, round_done_key

NAMES_A_FILE = 100
DIRECTORIES_ABOVE = 200
ROWS_A_FILE = 5_000
MTIME_NS = 10**18
MEMORY_MIB = 2_048


def directories(count: int) -> list[str]:
    """The paths, each below another one of a few hundred."""
    return [f"d{number % DIRECTORIES_ABOVE:04d}/e{number // DIRECTORIES_ABOVE:06d}/" for number in range(count)]


def prepare(count: int, names: int, source: Path, mount: Path, scratch: Path, workers: int) -> Ledger:
    """A tree that is copied and not finished, and the ledger that says so."""
    ledger = Ledger(DirectoryStore(scratch), RUN)
    where = MountLocation("", "")
    ledger.write(
        keys.PLAN, Plan(RUN, Request(source=where, destination=where, limits=Limits(workers, 60.0)), DEFAULT_RATES)
    )
    context_of(scratch, source, mount, "check").destination(ledger.read_plan()).check(writing=True)
    made = directories(count)
    for path in made:
        (mount / "copy" / path).mkdir(parents=True, exist_ok=True)
        (mount / "copy" / path).chmod(0o1700)
    for number, first in enumerate(range(0, count, ROWS_A_FILE)):
        taken = made[first : first + ROWS_A_FILE]
        shard_id = f"shard-{number:04d}"
        rows = (to_builtins(MadeDirectory(path, 0o40755, 0, 0, MTIME_NS, MTIME_NS)) for path in taken)
        ledger.write_rows(keys.directories_key(shard_id, "n", 0), rows)
        write_outcomes(shard_id, "n-0000", {}, ledger, Record([], {}, directories=len(taken)))
    ledger.write(round_done_key(1), _listed())
    _names(names, source, mount, ledger)
    return ledger


def _listed() -> RoundRecord:
    """The only round of a listing; finishing needs to know no more than that it ended."""
    none = Count()
    return RoundRecord(
        complete=True,
        listed=none,
        sizes={},
        crowds={},
        outcomes={},
        outcome_files=[],
        shards=[],
        loose=[],
        big_files=[],
        index=[],
        extras=[],
        in_scope=none,
        destination=none,
        directories=[],
        deletions=[],
        names=[],
        heads=0,
        seconds=0.0,
        segments=1,
        left=0,
    )


def _names(count: int, source: Path, mount: Path, ledger: Ledger) -> None:
    """The files, of which the destination has the first names; and the shard of links."""
    files = -(-count // NAMES_A_FILE)
    (source / "names").mkdir(exist_ok=True)
    (mount / "copy/names").mkdir()
    for number in range(files):
        first = source / f"names/f{number:06d}"
        if not first.exists():
            first.write_bytes(b"x")
            for name in range(min(NAMES_A_FILE, count - number * NAMES_A_FILE)):
                os.link(first, source / f"names/f{number:06d}-{name:03d}")
            os.utime(first, ns=(MTIME_NS, MTIME_NS))
        copy = mount / f"copy/names/f{number:06d}"
        copy.write_bytes(b"x")
        os.utime(copy, ns=(MTIME_NS, MTIME_NS))
    listed = PosixTree(source, "", RUN, "list", "source").list(Segment("all"))
    entries = {entry.path: entry for entry in listed if "/f" in entry.path}
    firsts = [entry for path, entry in entries.items() if "-" not in path]
    outcomes = {index: Outcome.done(entry, Result.COPIED) for index, entry in enumerate(firsts)}
    write_outcomes("names-000000", "n", outcomes, ledger)
    links = [(entry, path.partition("-")[0]) for path, entry in entries.items() if "-" in path]
    key = keys.shard_key("links-000000")
    ledger.write_rows(key, (link_row(entry, first) for entry, first in links))
    shard = Shard("links-000000", key, len(links), len(links), 0.0)
    ledger.write(LINKS, Links([LinkShard(shard, "names-000000")]))
    ledger.write(SHARDS, [])


def finish(ledger: Ledger, source: Path, mounts: list[Path], scratch: Path) -> dict[str, Any]:
    """Finish the tree as the state machine does; the seconds and shards of each round."""
    began, mapped = time.monotonic(), -1
    rounds: list[dict[str, Any]] = []
    while True:
        answer = finish_tree(context_of(scratch, source, mounts[0], f"tree{len(rounds)}"), mapped=mapped)
        if answer["done"]:
            return {"seconds": round(time.monotonic() - began, 2), "rounds": rounds}
        mapped = answer["round"]
        if answer["count"]:
            started = time.monotonic()
            _map(ledger.read_json(answer["key"].removeprefix(ledger.prefix)), source, mounts, scratch)
            rounds.append({"shards": answer["count"], "seconds": round(time.monotonic() - started, 2)})


def _map(rows: list[Any], source: Path, mounts: list[Path], scratch: Path) -> None:
    workers = []
    for number, mount in enumerate(mounts):
        command = [interpreter.of_worker(), "-m", "benchmarks.finishing_worker", str(scratch), str(source), str(mount)]
        workers.append(subprocess.Popen(command, stdin=subprocess.PIPE))
        stdin = workers[-1].stdin
        assert stdin is not None
        stdin.write(json.dumps([row["shard"] for row in rows[number :: len(mounts)]]).encode())
        stdin.close()
    for worker in workers:
        if worker.wait():
            raise RuntimeError(f"a worker ended with {worker.returncode}")


def unfinished(count: int, names: int, reader: Path) -> int:
    """Directories without their attributes, and names that are not there."""
    seen = [(reader / "copy" / path).stat() for path in directories(count)]
    wrong = sum(1 for one in seen if one.st_mode & 0o7777 != 0o755 or one.st_mtime_ns != MTIME_NS)
    files = [reader / f"copy/names/f{number:06d}" for number in range(-(-names // NAMES_A_FILE))]
    return wrong + names - sum(path.stat().st_nlink - 1 for path in files)


def measured(arguments: argparse.Namespace, workers: int, scratch: Path) -> dict[str, Any]:
    """One row."""
    place, source, ledger = scratch / f"lab{workers}", scratch / "source", scratch / f"ledger{workers}"
    source.mkdir(exist_ok=True)
    with lab.running(arguments.profile, workers, place, MEMORY_MIB) as running:
        running.at_no_cost()
        prepared = prepare(arguments.directories, arguments.names, source, running.mounts[0], ledger, workers)
        running.ask("POST", "/profile", lab.calibration(arguments.profile))
        found = finish(prepared, source, running.mounts, ledger)
        running.at_no_cost()
        left = unfinished(arguments.directories, arguments.names, running.reader)
    if left:
        raise RuntimeError(f"{left} directories or names are not finished")
    return {"workers": workers, "directories": arguments.directories, "names": arguments.names, **found}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directories", type=int, default=200_000)
    parser.add_argument("--names", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--profile", default="modern", help="a calibration, such as modern or modern/8")
    parser.add_argument("--scratch", type=Path, help="where lab and ledgers lie; default: a temporary directory")
    arguments = parser.parse_args()
    if os.geteuid() or not lab.BINARY.exists():
        print("needs root and .fanout/bench/efslab: run scripts/setup-bench.sh", file=sys.stderr)
        return 1
    assert aws.HARD_LINKS > NAMES_A_FILE
    scratch = Path(tempfile.mkdtemp(prefix="fanout-finishing-", dir=arguments.scratch))
    try:
        for workers in arguments.workers:
            print(json.dumps(measured(arguments, workers, scratch)), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
