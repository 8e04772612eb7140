"""The cold start budget: import time of each function, what it imports, and the sizes of code and layer.

python -m benchmarks.cold_start
"""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import interpreter

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


def probe(function: Path, compiled: Path, plain: Path) -> dict[str, Any]:
    """The median import times of a handler in fresh interpreters with either layer, and the packages that it loads."""
    seconds: dict[Path, list[float]] = {compiled: [], plain: []}
    modules, packages = 0, ""
    for _ in range(RUNS):
        for layer, samples in seconds.items():
            environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(layer / "python"), "AWS_REGION": "eu-west-1"}
            found = subprocess.run(
                [interpreter.of_worker(), "-B", "-c", _PROBE],
                cwd=function,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            first, count, *rest = found.stdout.split()
            samples.append(float(first))
            modules, packages = int(count), rest[0] if rest else ""
    return {
        "function": function.name,
        "import_ms": round(median(seconds[compiled]) * 1000),
        "import_ms_without_bytecode": round(median(seconds[plain]) * 1000),
        "modules": modules,
        "packages": packages.split(","),
        "zip_kb": round(zipped(function, "__pycache__") / 1000, 1),
    }


def zipped(directory: Path, without: str = "") -> int:
    """The size of a directory as a deployment package, without what lies in directories of a name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(directory.rglob("*")):
            if path.is_file() and without not in path.parts:
                archive.write(path, path.relative_to(directory))
    return len(buffer.getvalue())


def layer(made: Path, interpreter: str) -> Path:
    """The layer for this machine and this Python, as `sam build` makes it; bytecode is made by the interpreter."""
    wanted = {
        "FANOUT_LAYER_PYTHON": f"{sys.version_info.major}.{sys.version_info.minor}",
        "FANOUT_LAYER_PLATFORM": platform.machine(),
        "FANOUT_LAYER_INTERPRETER": interpreter,
        "PATH": f"{ROOT / '.fanout/tools/uv/bin'}:{os.environ['PATH']}",
    }
    command = ["make", "-s", "-C", str(ROOT / "layers/core"), "build-CoreLayer", f"ARTIFACTS_DIR={made}"]
    subprocess.run(command, check=True, env={**os.environ, **wanted})
    return made


def layer_sizes(compiled: Path, plain: Path) -> dict[str, Any]:
    """Zipped sizes of the layers, and of the largest packages of the first one."""
    packages = {entry.name: zipped(entry) for entry in (compiled / "python").iterdir() if entry.is_dir()}
    largest = sorted(packages.items(), key=lambda item: -item[1])[:8]
    return {
        "zip_mb": round(zipped(compiled) / 1e6, 2),
        "zip_mb_without_bytecode": round(zipped(plain) / 1e6, 2),
        "largest_kb": {name: round(size / 1000) for name, size in largest},
    }


def main() -> int:
    """Measure and write the result."""
    with tempfile.TemporaryDirectory() as directory:
        compiled = layer(Path(directory, "compiled"), interpreter.of_worker())
        plain = layer(Path(directory, "plain"), "none")
        rows = [probe(path.parent, compiled, plain) for path in sorted(ROOT.glob("functions/*/app.py"))]
        sizes = layer_sizes(compiled, plain)
    result = {"python": interpreter.version_line(), "runs": RUNS, "functions": rows, "layer": sizes}
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print("| function | import ms | without bytecode | modules | code KB zipped |\n|---|---|---|---|---|")
    for row in rows:
        times = f"{row['import_ms']} | {row['import_ms_without_bytecode']}"
        print(f"| {row['function']} | {times} | {row['modules']} | {row['zip_kb']} |")
    print(json.dumps(sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
