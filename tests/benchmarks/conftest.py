"""The simulated EFS of this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks import lab

ROOT = Path(__file__).parents[2]


@pytest.fixture
def simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is built; skips where it cannot run."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or shutil.which("go") is None:
        pytest.skip("the simulated EFS needs root, FUSE and Go")
    binary = tmp_path / "efslab"
    built = subprocess.run(
        ["go", "build", "-trimpath", "-o", binary, "."],
        cwd=ROOT / "benchmarks/efslab",
        capture_output=True,
        check=False,
    )
    if built.returncode:
        pytest.skip(f"the simulated EFS does not build here: {built.stderr.decode()[-300:]}")
    monkeypatch.setattr(lab, "BINARY", binary)
