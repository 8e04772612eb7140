"""The scripts that found a break, cut down: they find nothing any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.gate import hold_script
from tests.adversary.script import from_json

FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))


@pytest.mark.parametrize("script", FOUND, ids=lambda path: path.stem)
def test_a_break_that_was_found_stays_mended(script: Path, tmp_path: Path) -> None:
    hold_script(from_json(script.read_text()), tmp_path, f"python -m tests.adversary --script {script}")
