"""The adversary by hand: `python -m tests.adversary --seconds 3600`, or `--seed N` to see one seed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.adversary.runner import Outcome
from tests.adversary.script import Script, from_json, to_json
from tests.adversary.search import outcome_of, search
from tests.adversary.shrink import shrunk
from tests.adversary.worlds import script_of


def look_at(script: Script, *, shrink: bool, kind: str, where: Path | None) -> bool:
    """Tell a script's story and what it finds, then the shortest script that finds the same; whether it finds any."""
    outcome = outcome_of(script, where)
    _tell(script, outcome)
    if not outcome.findings or not shrink:
        return bool(outcome.findings)
    wanted = kind or outcome.findings[0].kind
    shortest = shrunk(script, lambda smaller: wanted in outcome_of(smaller, where).kinds)
    print(f"\nthe shortest script that finds {wanted!r}:\n")
    _tell(shortest, outcome_of(shortest, where))
    print(f"\nas a file for --script:\n{to_json(shortest)}")
    return True


def _tell(script: Script, outcome: Outcome) -> None:
    print(script.story())
    print("ended: " + ", ".join(f"{run} {status}" for run, status in outcome.statuses))
    print("told: " + ", ".join(f"{name} {count}" for name, count in outcome.told.items()))
    for finding in outcome.findings:
        print(f"FOUND {finding.kind}: {finding.text}")


def main() -> int:
    """See the module; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.adversary", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search")
    parser.add_argument("--seed-from", type=int, default=1_000_000, help="the first seed of a search")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="look at one seed: its story, what it finds, the shortest form")
    parser.add_argument("--script", type=Path, help="look at a script that was written down")
    parser.add_argument("--kind", default="", help="shrink to this class of finding; default: the first")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--directory", type=Path, help="where the labs are, as a mount; default: in memory")
    parser.add_argument("--tally", type=Path, help="a file for the figures so far, should the search be ended")
    given = parser.parse_args()
    if given.seed is not None or given.script is not None:
        script = script_of(given.seed) if given.script is None else from_json(given.script.read_text())
        return int(look_at(script, shrink=not given.no_shrink, kind=given.kind, where=given.directory))
    tally = search(given.seconds, given.seed_from, given.processes, given.directory, given.tally)
    print(tally.text())
    return int(bool(tally.broken))


if __name__ == "__main__":
    sys.exit(main())
