"""`make audit` never looks clean where it could not ask: its script, with a stand-in for what runs pip-audit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/audit.sh"


@pytest.mark.parametrize(("ends", "status"), [(0, 0), (1, 1), (2, 1)])
def test_what_can_not_be_asked_about_fails_and_says_what_it_needs(tmp_path: Path, ends: int, status: int) -> None:
    runner = tmp_path / "uv"
    runner.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*"\nexit {ends}\n', encoding="utf-8")
    runner.chmod(0o755)
    found = subprocess.run([SCRIPT, runner], capture_output=True, text=True, check=False)
    assert found.returncode == status
    assert "needs the network" in found.stderr
    assert ("not asked about everything" in found.stderr) == bool(status)
    # Without --strict a package that the index has no advisories for is passed over.
    assert {"--strict", "--require-hashes", "layers/core/requirements.txt"} <= set(found.stdout.split())
