"""Does a probe find what the simulated EFS was set to? Its calibration beside the parameters, with the error of each.

    python -m benchmarks.probe --profile legacy
    python -m benchmarks.probe --profile modern --set client_mib_per_second=100 --set total_mib_per_second=150

Each function is a process with a mount of its own; the steps are those of the state machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.directory_store import DirectoryStore
from benchmarks.lab import calibration, running
from fanout.adapters.posix.probe.probe_directory import PosixProbeDirectory
from fanout.efs.calibration import Calibration
from fanout.efs.probe_result import ProbeResult
from fanout.facts.units import MIB
from fanout.ledger.documents import document_of
from fanout.ledger.ledger import Ledger
from fanout.ports.probe import ProbeDirectory
from fanout.ports.tree import Tree
from fanout.probe.open_probe import close_probe, open_probe
from fanout.probe.plan_probe import plan_probe
from fanout.probe.run_experiment import run_experiment
from fanout.probe.summarise_probe import summarise_probe
from fanout.request.plan import Plan
from fanout.work.context import Context, EndPorts
from tests.support.attempts import attempt_of

PROBE = "probe-1"
KIB_4 = 4096 / MIB


class WallClock:
    """The machine's clock."""

    def now(self) -> float:
        """See ``ports.tree.Clock``."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """See ``ports.tree.Clock``."""
        time.sleep(seconds)


def no_tree(_plan: Plan) -> Tree:
    """A probe has no trees."""
    raise RuntimeError("a probe asked for a tree")


def context_of(scratch: Path) -> Context:
    """The context of one function."""
    ledger = Ledger(DirectoryStore(scratch / "work"), PROBE)
    return attempt_of(ledger, WallClock(), 150, "0", EndPorts(source=no_tree, destination=no_tree))


def directories_of(mount: Path, member: int) -> Callable[[str, str], AbstractContextManager[ProbeDirectory]]:
    """The probe's directory as the client of one mount sees it."""

    @contextmanager
    def directories(probe_id: str, path: str) -> Iterator[ProbeDirectory]:
        directory = PosixProbeDirectory(mount, path, probe_id, f"client{member}")
        try:
            yield directory
        finally:
            directory.close()

    return directories


def member_of_round(scratch: Path, mount: Path, number: int, member: int) -> None:
    """One function of one round, in a process of its own."""
    run_experiment(context_of(scratch), number, member, directories_of(mount, member))


def probe(scratch: Path, mounts: list[Path], request: dict[str, Any]) -> Any:
    """The whole probe; returns probe.json."""
    planned = plan_probe(request, context_of(scratch), "lab", len(mounts), "work")
    open_probe(context_of(scratch), directories_of(mounts[0], 0))
    with ProcessPoolExecutor(len(mounts), multiprocessing.get_context("spawn")) as pool:
        list(pool.map(time.sleep, [0.5] * len(mounts)))  # so that every process is there
        for one in planned["rounds"]:
            number = one["number"]
            jobs = [pool.submit(member_of_round, scratch, mounts[member], number, member) for member in one["members"]]
            for job in jobs:
                job.result()
    close_probe(context_of(scratch), directories_of(mounts[0], 0))
    summarise_probe(context_of(scratch), {})
    return context_of(scratch).ledger.read_json("probe.json")


def expected(profile: dict[str, Any], functions: list[int]) -> dict[str, float]:
    """What a probe should find, from the parameters of a calibration; bytes a second, seconds, creations a second."""
    seconds = {name: value / 1000 for name, value in profile["milliseconds"].items()}
    inf = float("inf")
    client = profile.get("client_mib_per_second") or inf
    total = profile.get("total_mib_per_second") or inf
    whole_file = profile.get("file_mib_per_second") or inf
    small = seconds["write"] + profile.get("write_milliseconds_per_mib", 0) / 1000 * KIB_4
    found = {
        "write_bytes_per_second_client": min(client, total) * MIB,
        "write_bytes_per_second_file": min(whole_file, total, max(functions) * client) * MIB,
        "read_bytes_per_second_client": min(client, total) * MIB,
        "create_seconds": seconds["create"],
        "small_write_seconds": seconds["create"] + small + seconds["close"],
        "creations_per_second_directory": 1 / seconds["create"],
    }
    return found | {f"functions.{number}": min(number * client, total) * MIB for number in functions}


def measured(found: Calibration) -> dict[str, float]:
    """The same of a probe."""
    names = [name for name in expected({"milliseconds": {"create": 1, "write": 1, "close": 1}}, [1]) if "." not in name]
    return {name: getattr(found, name) for name in names} | {
        f"functions.{number}": rate for number, rate in found.functions.items()
    }


def main() -> None:
    """Probe a fresh simulation and print a row for each parameter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="legacy")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--functions", type=int, default=2)
    parser.add_argument("--budget-bytes", default="1 GiB")
    parser.add_argument("--budget-seconds", type=float, default=100.0)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    changes = {name: float(value) for name, _, value in (one.partition("=") for one in given.set)}
    request = {"budget_bytes": given.budget_bytes, "budget_seconds": given.budget_seconds}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        with running(given.profile, given.functions, scratch / "mounts", 1200) as lab:
            if changes:
                lab.ask("POST", "/profile", changes)
            result = probe(scratch, lab.mounts, {**request, "max_functions": given.functions})
            left = list(lab.mounts[0].iterdir())
    if given.output:
        given.output.write_text(json.dumps(result, indent=1))
    budget = result["budget"]
    print(f"{result['status']}, {budget['bytes_used'] / MIB:.0f} MiB, {budget['seconds_used']:.0f} s, left: {left}")
    found = document_of(result, ProbeResult).calibration
    if found is None:
        raise SystemExit("too little was measured")
    wanted = expected(calibration(given.profile) | changes, sorted(found.functions))
    print("| parameter | set | found | error |\n|---|---|---|---|")
    for parameter, value in measured(found).items():
        scale, unit = (MIB, " MiB/s") if value > 100_000 else (0.001, " ms") if "seconds" in parameter else (1, "/s")
        if parameter.startswith("creations"):
            scale, unit = 1, "/s"
        error = value / wanted[parameter] - 1
        print(f"| {parameter} | {wanted[parameter] / scale:.1f}{unit} | {value / scale:.1f}{unit} | {error:+.0%} |")


if __name__ == "__main__":
    main()
