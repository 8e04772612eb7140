"""The layer is made of its lock file and its sources alone: built twice, in two places, it is the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fanout_cli.local import find_toolchain
from tests.template.templates import REPO

pytestmark = pytest.mark.e2e


def build(place: Path) -> str:
    """Build the layer in a copy of its folder, as ``sam build`` does; a digest of names, modes and bytes."""
    folder, made = place / "core", place / "made"
    shutil.copytree(REPO / "layers/core", folder, ignore=shutil.ignore_patterns("__pycache__"))
    uv = find_toolchain(REPO).uv
    assert uv is not None
    path = f"{uv.parent}:{os.environ['PATH']}"
    command = ["make", "--no-print-directory", "build-CoreLayer", f"ARTIFACTS_DIR={made}"]
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True, capture_output=True)
    digest = hashlib.sha256()
    files = sorted(path for path in made.rglob("*") if path.is_file())
    assert len(files) > 100
    for file in files:
        digest.update(f"{file.relative_to(made)} {file.stat().st_mode & 0o777:o}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def test_the_same_input_makes_the_same_layer(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "elsewhere/second"
    for place in (first, second):
        place.mkdir(parents=True)
    assert build(first) == build(second)


def test_every_requirement_of_the_layer_is_locked_with_hashes() -> None:
    text = (REPO / "layers/core/requirements.txt").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(lines) > 5
    assert all("==" in line and "--hash=sha256:" in line for line in lines)
