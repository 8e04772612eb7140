"""The layer is made of its lock file and its sources alone: built twice, in two places, it is the same."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER, source_from_cache
from pathlib import Path

import pytest

from fanout.report.templating import environment
from fanout_cli.local import find_toolchain
from tests.support import runs
from tests.support.pages import rendered, sources
from tests.template.templates import REPO

pytestmark = pytest.mark.e2e


def build(place: Path, interpreter: str = sys.executable) -> Path:
    """Build the layer in a copy of its folder, as ``sam build`` does, for the Python that runs the tests."""
    folder, made = place / "core", place / "made"
    shutil.copytree(REPO / "layers/core", folder, ignore=shutil.ignore_patterns("__pycache__"))
    uv = find_toolchain(REPO).uv
    assert uv is not None
    path = f"{uv.parent}:{os.environ['PATH']}"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    chosen = [f"FANOUT_LAYER_PYTHON={version}", f"FANOUT_LAYER_INTERPRETER={interpreter}"]
    command = ["make", "--no-print-directory", "build-CoreLayer", f"ARTIFACTS_DIR={made}", *chosen]
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=True, capture_output=True)
    return made


def digest_of(made: Path) -> str:
    """A digest of names, modes and bytes."""
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
    assert digest_of(build(first)) == digest_of(build(second))


def test_bytecode_lies_beside_every_module_and_tells_nothing_of_the_builder(tmp_path: Path) -> None:
    made = build(tmp_path)
    sources = {path.relative_to(made) for path in made.rglob("*.py")}
    compiled = {Path(source_from_cache(str(path.relative_to(made)))) for path in made.rglob("*.pyc")}
    assert compiled == sources
    for path in made.rglob("*.pyc"):
        data = path.read_bytes()
        assert data[:8] == MAGIC_NUMBER + bytes([1, 0, 0, 0])  # by hash, and not checked (PEP 552)
        assert os.fsencode(tmp_path) not in data
    assert b"/opt/python/fanout/" in next(
        path.read_bytes() for path in made.rglob("fanout/ledger/__pycache__/ledger.*.pyc")
    )


def test_the_templates_are_rendered_from_bytecode_to_the_pages_of_the_sources(tmp_path: Path) -> None:
    compiled = build(tmp_path) / "python/fanout/report/compiled"
    for module in compiled.glob("*.py"):
        module.write_text("raise AssertionError('there is bytecode of it')")
    for name in sources():
        assert Path(str(environment(compiled).get_template(name).filename)).parent == compiled
    [(of_sources, of_compiled)] = rendered(runs.hostile, compiled)
    assert of_compiled.encode() == of_sources.encode()


def test_without_the_target_s_python_there_is_no_bytecode(tmp_path: Path) -> None:
    made = build(tmp_path, interpreter="no-such-python")
    assert not list(made.rglob("*.pyc"))
    assert not (made / "python/fanout/report/compiled").exists()
    assert (made / "python/fanout/ledger/ledger.py").is_file()


def test_every_requirement_of_the_layer_is_locked_with_hashes() -> None:
    text = (REPO / "layers/core/requirements.txt").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert len(lines) > 5
    assert all("==" in line and "--hash=sha256:" in line for line in lines)
