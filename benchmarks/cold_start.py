"""The cold start budget: import time of each function, what it imports, and the sizes of code and layer.

python -m benchmarks.cold_start [--layer]     --layer builds the layer too, for its zipped size
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
RESULT = Path(__file__).parent / "results/cold_start.json"
RUNS = 7
_PROBE = """
import sys, time
before = set(sys.modules)
began = time.perf_counter()
import app
seconds = time.perf_counter() - began
loaded = set(sys.modules) - before
tops = sorted({name.partition(".")[0] for name in loaded if not name.startswith("_")} - sys.stdlib_module_names)
print(seconds, len(loaded), ",".join(top for top in tops if top != "app"))
"""


def probe(function: Path) -> dict[str, Any]:
    """The median import time of a handler in fresh interpreters, and the packages that it loads."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "layers/core/src"), "AWS_REGION": "eu-west-1"}
    seconds, modules, packages = [], 0, ""
    for _ in range(RUNS):
        found = subprocess.run(
            [sys.executable, "-c", _PROBE], cwd=function, env=environment, capture_output=True, text=True, check=True
        )
        first, count, *rest = found.stdout.split()
        seconds.append(float(first))
        modules, packages = int(count), rest[0] if rest else ""
    return {
        "function": function.name,
        "import_ms": round(median(seconds) * 1000),
        "modules": modules,
        "packages": packages.split(","),
        "zip_kb": round(zipped(function) / 1000, 1),
    }


def zipped(directory: Path) -> int:
    """The size of a directory as a deployment package."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(directory))
    return len(buffer.getvalue())


def layer_sizes() -> dict[str, Any]:
    """The layer built as `sam build` builds it: zipped size, and that of its largest packages."""
    with tempfile.TemporaryDirectory() as directory:
        command = ["make", "-s", "-C", str(ROOT / "layers/core"), "build-CoreLayer", f"ARTIFACTS_DIR={directory}"]
        path = f"{ROOT / '.fanout/tools/uv/bin'}:{os.environ['PATH']}"
        subprocess.run(command, check=True, env={**os.environ, "PATH": path})
        packages = {entry.name: zipped(entry) for entry in Path(directory, "python").iterdir() if entry.is_dir()}
        largest = sorted(packages.items(), key=lambda item: -item[1])[:8]
        return {
            "zip_mb": round(zipped(Path(directory)) / 1e6, 2),
            "largest_kb": {name: round(size / 1000) for name, size in largest},
        }


def main(arguments: list[str]) -> int:
    """Measure and write the result."""
    rows = [probe(path.parent) for path in sorted(ROOT.glob("functions/*/app.py"))]
    result: dict[str, Any] = {"python": sys.version.split()[0], "runs": RUNS, "functions": rows}
    if "--layer" in arguments:
        result["layer"] = layer_sizes()
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print("| function | import ms | modules | code KB zipped | packages |\n|---|---|---|---|---|")
    for row in rows:
        packages = ", ".join(row["packages"])
        print(f"| {row['function']} | {row['import_ms']} | {row['modules']} | {row['zip_kb']} | {packages} |")
    print(json.dumps(result.get("layer", {})))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
