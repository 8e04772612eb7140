"""Directories of others in versions on their way out, over drawn steps; see ``movers``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.publishing.made_directories import MadeDirectories
from tests.adversary.movers import Movers
from tests.support.long import drawn
from tests.support.nobody import open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs several users")


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest.mark.parametrize("seed", drawn(list(range(200)), 25))
def test_a_publisher_removes_what_runs_made_and_nothing_of_others(mount: Path, seed: int) -> None:
    movers = Movers(seed, mount)
    assert [one.text for one in movers.carry_out(10)] == [], movers.steps


def test_the_oracle_finds_a_product_that_goes_into_every_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MadeDirectories, "holds", lambda *_: True)
    for seed in range(20):
        with open_directory() as mount:
            first = next(Movers(seed, mount).carry_out(10), None)
        if first is not None and " is gone" in first.text:
            return
    pytest.fail("nothing was found")
