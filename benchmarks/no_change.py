"""A second run that finds nothing to do, beside rsync and rclone sync on the same two trees.

    python -m benchmarks.no_change [--files 100000] [--runs 3] [--calibration disk|modern|modern/64 ...]
        [--functions 1 2 ...] [--peers rsync rclone]

On ``disk`` both trees lie in a directory; on ``modern`` the destination is the simulated EFS, which needs root.
Ours is what the functions of such a run do: list, gather, partition, summarise, with the ledger in a directory,
in a process of its own, on the distribution's Python where ``scripts/setup-bench-engine.sh`` set one up. As
``fanout-2`` the listing is cut before it begins, as that of a larger tree is after its first round, and two functions
take a piece each: processes, each with a mount of its own. Before every run the trees are out of the kernel's caches
where that may be done, and the tool's own files are in them; of ours that is the bytecode of its modules, which the
first of these readings compiles. As in the layer the report's templates are Python, in a copy of our package that is
run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks import interpreter
from benchmarks.lab import calibration, running
from benchmarks.measure import drop_caches

PEERS = ("rsync", "rclone")
READING = """
import benchmarks.no_change_run, fanout.request.parse, fanout.report.page
from fanout.report.templating import TEMPLATES, environment
for path in TEMPLATES.glob("*.j2"):
    environment().get_template(path.name)
"""
SETTLE_SECONDS = 2.0  # over the margin of the comparison


def make_tree(root: Path, files: int) -> None:
    """Files of 1 KiB, 100 in a directory, two deep."""
    for number in range(files):
        target = root / f"d{number // 10_000:03d}/e{number // 100 % 100:02d}/file{number:07d}"
        if number % 100 == 0:
            target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"%1024d" % number)


def tools_of(functions: Iterable[int], peers: Iterable[str]) -> dict[str, int]:
    """How many mounts each tool that is installed works on: ours with so many functions, and the peers."""
    ours = {"fanout" if number == 1 else f"fanout-{number}": number for number in functions}
    return ours | {peer: 1 for peer in peers if shutil.which(peer)}


def command_of(tool: str, source: Path, destinations: Sequence[Path], scratch: Path) -> list[str]:
    """The command line of a tool."""
    if tool not in PEERS:
        places = map(str, (source, scratch, *destinations))
        return [interpreter.of_worker(), "-m", "benchmarks.no_change_run", *places]
    (destination,) = destinations
    if tool == "rsync":
        return ["rsync", "-a", "--delete", f"{source}/", f"{destination}/"]
    flags = ["--config", "/dev/null", "--transfers", "64", "--checkers", "64"]
    return ["rclone", "sync", "-q", *flags, str(source), str(destination)]


def read_again(tool: str, scratch: Path) -> None:
    """Read the tool's own files, which are no part of the trees: its binary, or what ours imports and renders."""
    commands = {"rsync": ["rsync", "--version"], "rclone": ["rclone", "version"]}
    command = commands.get(tool, [interpreter.of_worker(), "-c", READING])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment(scratch))


def deploy(scratch: Path) -> None:
    """The package as the layer has it."""
    interpreter.deploy(scratch / "layer", environment(scratch))


def environment(scratch: Path) -> dict[str, str]:
    """That of this process, in which bytecode is kept whatever it says and ours is what ``deploy`` made."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(scratch / "layer"), "PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}


def measure(
    source: Path, destinations: Iterator[Path], scratch: Path, runs: int, tools: Mapping[str, int]
) -> dict[str, float]:
    """The median seconds of each tool; they take turns, each with the next destinations, one a function."""
    seconds: dict[str, list[float]] = {tool: [] for tool in tools}
    deploy(scratch)
    for number in range(runs):
        for tool, functions in tools.items():
            ledger = scratch / f"ledger-{number}"
            drop_caches()
            read_again(tool, scratch)
            began = time.monotonic()
            command = command_of(tool, source, list(itertools.islice(destinations, functions)), ledger)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment(scratch))
            seconds[tool].append(time.monotonic() - began)
            print(f"  {tool}: {seconds[tool][-1]:.2f} s", flush=True)
            shutil.rmtree(ledger, ignore_errors=True)
    return {tool: median(found) for tool, found in seconds.items()}


def copied(source: Path, destination: Path) -> None:
    """The destination as a run would have left it, times included, and all of it on the disk."""
    destination.mkdir(exist_ok=True)
    time.sleep(SETTLE_SECONDS)
    subprocess.run(["cp", "-a", f"{source}/.", f"{destination}/"], check=True)
    os.sync()  # what is still being written would slow the first tool


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the medians as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calibration", nargs="*", default=["disk", "modern"])
    parser.add_argument("--functions", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--scratch", type=Path, default=Path(".fanout/bench/no-change"))
    options = parser.parse_args(arguments)
    tools = tools_of(options.functions, options.peers)
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
                results[name] = measure(source, itertools.repeat(scratch / "copy"), scratch, options.runs, tools)
                continue
            # Mounts of its own for every run, so that no client has anything in its cache.
            clients = 1 + options.runs * sum(tools.values())
            with running("none", clients, scratch / "mounts", options.files // 20 + 64) as lab:
                copied(source, lab.mounts[0] / "copy")
                fresh = (mount / "copy" for mount in lab.mounts[1:])
                lab.ask("POST", "/profile", calibration(name))
                results[name] = measure(source, fresh, scratch, options.runs, tools)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps({"files": options.files, "seconds": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
