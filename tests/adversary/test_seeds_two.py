"""Half of the gate's seeds: each is whole runs among faults, and the oracle finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.gate import SECOND, hold_against


@pytest.mark.parametrize("seed", SECOND)
def test_nothing_green_is_wrong(seed: int, tmp_path: Path) -> None:
    hold_against(seed, tmp_path)
