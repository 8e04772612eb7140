"""The interpreter that runs the engine's worker processes in a benchmark.

Peers are built with optimisations. A Python that a version manager built on this machine often is not: 3.11.7 as pyenv
builds it took 2.2 times the processor time of Debian's 3.11.2 for a loop over strings and tuples. So a worker runs on
the distribution's Python where the set-up of the benchmarks found one (``scripts/setup-bench-engine.sh``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

OPTIMISED = Path(".fanout/bench/engine/bin/python")
_PACKAGE, _LAYER = Path("layers/core/src/fanout"), Path(".fanout/bench/layer")


def of_worker(checkout: Path = Path()) -> str:
    """The program: the optimised one if it was set up, else the checkout's own."""
    optimised = checkout / OPTIMISED
    own = sys.executable if checkout == Path() else str(checkout / ".venv/bin/python")
    return str(optimised.absolute()) if optimised.exists() else own


def deploy(layer: Path, environment: Mapping[str, str], checkout: Path = Path()) -> None:
    """The package as the layer has it: with its templates as Python, which no checkout holds, and all of it compiled.

    In the environment the layer comes before any other place of the package. Else the first run after it would compile
    all modules, and take half a second longer than a cold start does.
    """
    package = layer / "fanout"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(checkout / _PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    templates = ["fanout.report.templating", str(package / "report/compiled")]
    bytecode = ["compileall", "-q", "--invalidation-mode", "unchecked-hash", str(package)]
    for module in (templates, bytecode):
        subprocess.run([of_worker(checkout), "-B", "-m", *module], check=True, env=dict(environment))


@cache
def deployed(checkout: Path = Path()) -> dict[str, str]:
    """The environment in which a worker's package is that of the checkout as the layer has it."""
    found = {"PYTHONPATH": str((checkout / _LAYER).absolute())}
    deploy(checkout / _LAYER, {"PATH": os.environ["PATH"], **found}, checkout)
    return found


def version_line() -> str:
    """Its version, and whose it is."""
    program = "import platform; print(platform.python_version())"
    version = subprocess.run([of_worker(), "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    return f"{version}, the {'distribution' if OPTIMISED.exists() else 'checkout'}'s"
