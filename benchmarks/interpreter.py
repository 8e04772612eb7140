"""The interpreter that runs the engine's worker processes in a benchmark.

Peers are built with optimisations. A Python that a version manager built on this machine often is not: 3.11.7 as pyenv
builds it took 2.2 times the processor time of Debian's 3.11.2 for a loop over strings and tuples. So a worker runs on
the distribution's Python where the set-up of the benchmarks found one (``scripts/setup-bench-engine.sh``).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OPTIMISED = Path(".fanout/bench/engine/bin/python")


def of_worker(checkout: Path = Path()) -> str:
    """The program: the optimised one if it was set up, else the checkout's own."""
    optimised = checkout / OPTIMISED
    own = sys.executable if checkout == Path() else str(checkout / ".venv/bin/python")
    return str(optimised.absolute()) if optimised.exists() else own


def version_line() -> str:
    """Its version, and whose it is."""
    program = "import platform; print(platform.python_version())"
    version = subprocess.run([of_worker(), "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    return f"{version}, the {'distribution' if OPTIMISED.exists() else 'checkout'}'s"
