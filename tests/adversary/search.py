"""Searches seeds in several processes, and counts what they come to."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from tests.adversary.publishers import Publishers
from tests.adversary.publishing_limits import LimitedPublishers
from tests.adversary.runner import Outcome, carry_out
from tests.adversary.script import Script
from tests.adversary.worlds import script_of

# Seeds of one task; a process is replaced after some, so that what one leaks ends with it.
SEEDS_A_TASK, TASKS_A_PROCESS = 5, 40


@dataclass
class Tally:
    """What many seeds came to."""

    seeds: int = 0
    told: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    broken: dict[int, list[str]] = field(default_factory=dict)
    idle: int = 0

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count a seed's outcome."""
        self.seeds += 1
        self.told.update(outcome.told)
        self.statuses.update(status for _, status in outcome.statuses)
        self.idle += not outcome.told
        if outcome.findings:
            self.broken[seed] = [f"{finding.kind}: {finding.text}" for finding in outcome.findings]

    def join(self, other: Tally) -> None:
        """Count what another process counted."""
        self.seeds, self.idle = self.seeds + other.seeds, self.idle + other.idle
        self.told.update(other.told)
        self.statuses.update(other.statuses)
        self.broken |= other.broken

    def text(self) -> str:
        """The figures."""
        runs = sum(self.statuses.values())
        lines = [f"{self.seeds} seeds, {runs} runs; in {self.idle} seeds no fault happened"]
        lines.append("runs ended: " + ", ".join(f"{name} {count}" for name, count in self.statuses.most_common()))
        lines.append(f"faults told: {sum(self.told.values())}")
        lines += [f"  {count:8} {name}" for name, count in self.told.most_common()]
        classes: dict[str, list[int]] = {}
        for seed, findings in sorted(self.broken.items()):
            for kind in {finding.partition(":")[0] for finding in findings}:
                classes.setdefault(kind, []).append(seed)
        lines.append(f"breaks found: {len(self.broken)} seeds in {len(classes)} classes")
        lines += [f"  {kind}: {len(seeds)} seeds, first {seeds[:8]}" for kind, seeds in sorted(classes.items())]
        return "\n".join(lines)


@contextmanager
def for_labs(where: Path | None = None) -> Iterator[Path]:
    """A directory for labs, ``where`` or in memory if there is such a place; gone at the end, also with what a kill
    left."""
    where = where or next(filter(Path.is_dir, [Path("/dev/shm")]), None)
    with tempfile.TemporaryDirectory(prefix="adversary-", dir=where) as directory:
        yield Path(directory)


def outcome_of(script: Script, where: Path | None = None) -> Outcome:
    """The outcome of a script, in a directory of its own."""
    with for_labs(where) as directory:
        return carry_out(script, directory / "lab")


def _some(first: int, directory: Path, until: float) -> Tally:
    tally = Tally()
    for seed in range(first, first + SEEDS_A_TASK):
        if time.monotonic() >= until:  # of all processes of a machine
            break
        tally.add(seed, carry_out(script_of(seed), directory / str(seed)))
    published = directory / f"published-{first}"
    published.mkdir()
    limited = directory / f"limited-{first}"
    limited.mkdir()
    for finding in chain(Publishers(first, published).carry_out(8), LimitedPublishers(first, limited).carry_out()):
        tally.broken.setdefault(first, []).append(f"{finding.kind}: {finding.text}")
    for made in (published, limited):
        shutil.rmtree(made)
    return tally


def search(seconds: float, first: int, processes: int, where: Path | None = None, kept: Path | None = None) -> Tally:
    """New seeds until the time is up; tells of each that finds something, and keeps the figures so far in a file."""
    tally, until = Tally(), time.monotonic() + seconds
    context = multiprocessing.get_context("spawn")
    starts = iter(range(first, sys.maxsize, SEEDS_A_TASK))
    with for_labs(where) as directory, context.Pool(processes, maxtasksperchild=TASKS_A_PROCESS) as pool:
        going = [pool.apply_async(_some, (next(starts), directory, until)) for _ in range(processes * 2)]
        while going:
            done = going.pop(0).get()
            tally.join(done)
            if kept is not None:
                kept.write_text(f"{tally.text()}\n")
            for seed, findings in done.broken.items():
                print(f"seed {seed}: {findings[0][:200]}" + (f" and {len(findings) - 1} more" * (len(findings) > 1)))
            sys.stdout.flush()
            if time.monotonic() < until:
                going.append(pool.apply_async(_some, (next(starts), directory, until)))
    return tally
