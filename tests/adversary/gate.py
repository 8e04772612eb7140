"""The seeds that `make test` runs, and what a failing one prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.runner import carry_out
from tests.adversary.script import Script
from tests.adversary.worlds import script_of
from tests.support.long import drawn

# A third of 300 each day, by the number of the day that the process of the gate noted (conftest.py), or all of them.
ALL = range(300)
TODAY = drawn(ALL, 3)
# Two files of tests share them, one for each process of the gate.
FIRST, SECOND = TODAY[::2], TODAY[1::2]


def hold_against(seed: int, tmp_path: Path) -> None:
    """Carry a seed's script out; fail with its story if the oracle finds anything."""
    hold_script(script_of(seed), tmp_path, f"seen again, and cut down, by: python -m tests.adversary --seed {seed}")


def hold_script(script: Script, tmp_path: Path, again: str) -> None:
    """The same of a script that was written down."""
    outcome = carry_out(script, tmp_path / "lab")
    if outcome.findings:
        found = "\n".join(f"FOUND {finding.kind}: {finding.text}" for finding in outcome.findings)
        pytest.fail(f"{script.story()}\n{outcome.statuses}\n{found}\n{again}", pytrace=False)
