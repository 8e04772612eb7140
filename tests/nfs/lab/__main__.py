"""python -m tests.nfs.lab [--seconds N] COMMAND: runs a shell command in a guest with mounts of an NFSv4.1 server.

Without a command it only fetches what the guest needs, and says which one comes up. ``tests/nfs/lab/guest/serve`` says
which mounts there are.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

from tests.nfs.lab.machine import lacks, prepare, run

ROOT = Path(__file__).parents[3]


def main() -> int:
    """The status of the command; 2 where no guest can run, 3 where it was not done in time."""
    parser = argparse.ArgumentParser(prog="python -m tests.nfs.lab")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--results", type=Path, help="kept: what the command writes to /run/results")
    parser.add_argument("command", nargs="?")
    arguments = parser.parse_args()
    reason = lacks()
    if reason:
        print(reason, file=sys.stderr)
        return 2
    if arguments.command is None:
        return _prepare()
    with tempfile.TemporaryDirectory(prefix="nfs-results-") as at:
        results = arguments.results or Path(at)
        results.mkdir(parents=True, exist_ok=True)
        command = f"cd {shlex.quote(str(ROOT))} && {arguments.command}"
        status = run(command, results, arguments.seconds, sys.stdout.buffer)
    return 3 if status is None else status


def _prepare() -> int:
    try:
        prepare(sys.stdout.buffer)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
