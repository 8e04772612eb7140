"""The simulated EFS asks for a program's calls what Linux's NFS client was counted to ask."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import lab
from benchmarks.calls import ASKED, asked

ROOT = Path(__file__).parents[2]
BYTES_AND_MOST = ("bytes_read", "bytes_written", "most_in_flight")


@pytest.fixture
def simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation of this checkout, built; skips where it cannot run."""
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


@pytest.mark.usefixtures("simulation")
def test_calls_ask_what_the_real_client_was_counted_to_ask(tmp_path: Path) -> None:
    with lab.running("none", 1, tmp_path / "lab", 64) as running:
        (running.mounts[0] / "root").mkdir()

        def counters() -> Counter[str]:
            return Counter({name: n for name, n in running.counters().items() if name not in BYTES_AND_MOST})

        assert asked(running.mounts[0] / "root", counters) == ASKED
