"""A run whose ``limits.json`` somebody spoils goes on, and a product that stumbles over it is found."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fanout.model.errors import LedgerBroken
from fanout.summary import run_facts
from tests.adversary.rates import BODIES, not_valid, rates_written
from tests.adversary.runner import carry_out
from tests.adversary.script import MOUNT_TO_S3, WITHIN_MOUNT, Act, Script, Spec
from tests.support.long import LONG

SOURCE = tuple(Spec(f"d{number % 2}/f{number}", size=100 + number, seed=number) for number in range(8))
LIMITS = {"limits": {"files_per_second": 1000.0}}


def spoiled(direction: str, at: int, seed: int) -> Script:
    """A limited run of which the file is spoiled, and one after it."""
    acts = (Act("run", "r1", LIMITS, (not_valid("r1", at, seed),)), Act("run", "last", LIMITS))
    return Script(0, direction, SOURCE, (), acts)


@pytest.mark.parametrize("direction", [WITHIN_MOUNT, MOUNT_TO_S3])
def test_a_run_goes_on_whatever_is_written_whenever(direction: str, tmp_path: Path) -> None:
    moments = range(5, 160, 5 if LONG else 25)
    for number, at in enumerate(moments):
        outcome = carry_out(spoiled(direction, at, number % len(BODIES)), tmp_path / f"lab{at}")
        assert outcome.findings == [], at
        assert outcome.statuses == [("r1", "SUCCEEDED"), ("last", "SUCCEEDED")], at


def test_a_product_that_stumbles_over_the_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbles(ledger: object) -> tuple[object, str]:
        raise LedgerBroken("limits.json")

    monkeypatch.setattr(run_facts, "limits_in_force", stumbles)
    outcome = carry_out(spoiled(WITHIN_MOUNT, 60, 0), tmp_path / "lab")
    assert outcome.statuses[0] != ("r1", "SUCCEEDED")


def test_the_draw_comes_now_and_then() -> None:
    acts = (Act("run", "r1"), Act("run", "last"))
    drawn = [rates_written(Random(seed), acts) for seed in range(300)]
    assert 3 < sum(one != acts for one in drawn) < 30
