"""Publishers that die, and links that are switched by hand, over drawn steps; see ``publishers``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.publishing import kept_versions
from tests.adversary.publishers import Publishers

SEEDS = 16


def found(seed: int, mount: Path) -> tuple[list[str], list[str]]:
    publishers = Publishers(seed, mount)
    return [one.text for one in publishers.carry_out(8)], publishers.steps


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_the_link_named_as_a_run_began_stays_for_the_minute(tmp_path: Path, seed: int) -> None:
    findings, steps = found(seed, tmp_path)
    assert findings == [], steps


def test_the_oracle_finds_a_product_that_spares_nothing_for_the_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_versions, "CACHED_SECONDS", 0.0)
    for seed in range(4):
        (tmp_path / str(seed)).mkdir()
        first = next(Publishers(seed, tmp_path / str(seed)).carry_out(8), None)
        if first is not None and " is gone at " in first.text:
            return
    pytest.fail("nothing was found")
