"""Whether a table of results is of the engine that is here: what moves data or lists has the code that was measured.

    .venv/bin/python -m benchmarks.engine_of_today CHECKOUT

Each row has a digest of each room below: its code without comments, docstrings and empty lines. A change of
one makes the tables old, and a test says so. Then they are measured again, or, where the change is not meant to be
felt, this command measures the checkout that the tables are of beside this one, alternately, and writes down that
their figures still hold if no cell is slower by more than a tenth.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
STILL_HOLD = RESULTS / "still_hold.json"
TABLES = ("latest.json", "s3_objects.json", "beside_fpart.json")
ROOMS = ("adapters", "copying", "listing", "partition")
OURS = "fanout"
LEAST_RATIO = 0.9
Engine = dict[str, str]


@cache
def engine_of(checkout: Path = ROOT) -> Engine:
    """A digest by room, as the checkout is when this is asked first."""
    package = checkout / "layers/core/src/fanout"
    return {room: _digest(sorted((package / room).rglob("*.py")), package) for room in ROOMS}


def code_of(source: str) -> list[str]:
    """The lines of a module without comments of their own, docstrings and empty lines."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines[first.lineno - 1 : first.end_lineno] = [""] * (
                    (first.end_lineno or first.lineno) - first.lineno + 1
                )
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _digest(paths: Iterable[Path], package: Path) -> str:
    found = hashlib.sha256()
    for path in paths:
        code = "\n".join(code_of(path.read_text(encoding="utf-8")))
        found.update(f"{path.relative_to(package)}\n{code}\n".encode())
    return found.hexdigest()[:12]


def read_rows() -> list[tuple[str, dict[str, Any]]]:
    """The rows of all tables, with the names of their tables."""
    documents = [(name, json.loads((RESULTS / name).read_text(encoding="utf-8"))) for name in TABLES]
    return [(name, row) for name, document in documents for row in document["rows"]]


def known() -> list[dict[str, Any]]:
    """What was measured beside each other since: ``of`` what the tables are, ``holds`` for what."""
    found: list[dict[str, Any]] = json.loads(STILL_HOLD.read_text(encoding="utf-8")) if STILL_HOLD.exists() else []
    return found


def rooms_changed(measured: Engine, now: Engine, since: list[dict[str, Any]]) -> list[str]:
    """The rooms in which what is here is neither what was measured nor what its figures were found to hold for."""
    reached = [measured]
    for one in since:
        if one["of"] in reached:
            reached.append(one["holds"])
    if now in reached:
        return []
    return [room for room in ROOMS if all(engine.get(room) != now[room] for engine in reached)] or list(ROOMS)


def main(arguments: list[str] | None = None) -> int:
    """0 if the figures hold, and that is written down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="of the commit that the tables are of, with its set-up done")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    of, now, cells = engine_of(options.checkout), engine_of(), {}
    for name, objects in (("small", 8000), ("big", 1024)):
        scratch = RESULTS / ".beside.json"
        command = [sys.executable, "-m", "benchmarks.s3_objects", "--tls", "--tools", "none", "--only", name]
        command += ["--objects", str(objects), "--rounds", str(options.rounds), "--results", str(scratch)]
        try:
            subprocess.run([*command, "--beside", str(options.checkout.absolute())], check=True, cwd=ROOT)
            rows = json.loads(scratch.read_text(encoding="utf-8"))["rows"]
        finally:
            scratch.unlink(missing_ok=True)
        for direction in ("download", "upload"):
            new, old = (next(r["mb_per_s"] for r in rows if r["direction"] == direction and (r["tool"] == OURS) is ours)
                        for ours in (True, False))  # fmt: skip
            cells[f"{name} {direction}"] = round(new / old, 2)
    print(cells)
    if min(cells.values()) < LEAST_RATIO:
        print(f"slower by more than a tenth than {options.checkout}: measure the tables again", file=sys.stderr)
        return 1
    found = {"of": of, "holds": now, "date": datetime.now(UTC).date().isoformat(), "ratios": cells}
    STILL_HOLD.write_text(json.dumps([*known(), found], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
