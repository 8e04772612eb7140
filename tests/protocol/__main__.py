"""Explores the protocol, takes its mends out, holds real runs against it, and writes the figures into docs/."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from tests.adversary.search import for_labs
from tests.adversary.worlds import script_of
from tests.protocol.checker import REPO, check, hold
from tests.protocol.holding import hold_seeds
from tests.protocol.traces import recorded_seeds, trace_of

PAGE = REPO / "docs/develop/protocol.md"


def table_of(explored: str, broken: str, traces: str) -> str:
    """The figures as they stand in the page."""
    scenes = re.findall(r"^(.+): (\d+) states", explored, re.MULTILINE)
    breaks = re.findall(r"^(.+): without (\w+), promise (\d+) breaks after (\d+) steps \((.+)\)$", broken, re.MULTILINE)
    total = sum(int(states) for _, states in scenes)
    lines = [f"{total:,} states in {len(scenes)} scenes, all of them, and no promise breaks. {traces}", ""]
    lines += ["| scene | states |", "|---|---|", *(f"| {name} | {int(states):,} |" for name, states in scenes), ""]
    lines += ["| found when taken out | rule | promise | steps |", "|---|---|---|---|"]
    lines += [f"| {what} | `{mend}` | {promise} | {steps} |" for what, mend, promise, steps, _ in breaks]
    return "\n".join(lines)


def write_figures(figures: str) -> None:
    """Write the figures into the page."""
    text = PAGE.read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- written by: make model -->\n\n).*(\n\n<!-- end -->)", re.DOTALL)
    PAGE.write_text(marked.sub(lambda found: f"{found[1]}{figures}{found[2]}", text), encoding="utf-8")


def main() -> int:
    """See the module."""
    arguments = argparse.ArgumentParser(prog="python -m tests.protocol", description=__doc__)
    arguments.add_argument("--seeds", type=int, default=300, help="scripts of the adversary up to this one are held")
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--seed", type=int, help="only print the trace of one")
    given = arguments.parse_args()
    if given.seed is not None:
        with for_labs() as directory:
            trace: Path = directory / "trace.jsonl"
            trace.write_text(trace_of(script_of(given.seed), directory / "lab"))
            print(trace.read_text(), hold([trace])[1])
        return 0
    began = time.monotonic()
    explored = check("explore")
    print(explored[1])
    broken = check("breaks")
    print(broken[1])
    held = hold_seeds(list(recorded_seeds(range(given.seeds))), given.processes)
    print(f"{held[1]}\n{time.monotonic() - began:.0f} s")
    if not (explored[0] and broken[0] and held[0]):
        return 1
    write_figures(table_of(explored[1], broken[1], held[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
