"""Runs that publish under a limit, and their retries, over drawn states; see ``publishing_limits``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.adapters.posix.publishing.versions import PosixVersions
from tests.adversary.publishing_limits import LimitedPublishers

SEEDS = range(12)


def test_what_is_published_is_whole_and_a_chain_of_retries_ends_well(tmp_path: Path) -> None:
    limits = 0
    for seed in SEEDS:
        (tmp_path / str(seed)).mkdir()
        publishers = LimitedPublishers(seed, tmp_path / str(seed))
        assert list(publishers.carry_out()) == []
        limits += publishers.limits
    assert limits > 4


def test_the_oracle_finds_a_product_that_switches_to_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switch = PosixVersions.switch

    def to_a_part(versions: PosixVersions) -> object:
        for path in tmp_path.rglob("versions/v*/a"):
            path.unlink()
        return switch(versions)

    monkeypatch.setattr(PosixVersions, "switch", to_a_part)
    assert [one.kind for one in LimitedPublishers(0, tmp_path).carry_out()]
