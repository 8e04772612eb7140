"""Runs of two stacks at one file system, over drawn moments; see ``neighbours``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix import staging
from fanout.adapters.posix.fencing.noted_removal import NotedRemoval, remove_noted
from fanout.model.file_system import Staged
from tests.adversary.neighbours import Neighbour
from tests.support.long import drawn


@pytest.mark.parametrize("seed", drawn(list(range(200)), 8))
def test_neither_stack_takes_anything_from_the_other(tmp_path: Path, seed: int) -> None:
    neighbour = Neighbour(seed, tmp_path)
    assert [one.text for one in neighbour.carry_out()] == [], neighbour.steps


def test_the_oracle_finds_a_product_that_goes_by_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_name(directories: Any, place: str, name: str, _made: Any, *others: Any, **named: Any) -> NotedRemoval:
        with directories.hold(place) as above:
            try:
                found = os.stat(name, dir_fd=above)
            except FileNotFoundError:
                return NotedRemoval(removed=False)
        return remove_noted(directories, place, name, [Staged(str(found.st_ino), found.st_uid)], *others, **named)

    monkeypatch.setattr(staging, "remove_noted", by_name)
    for seed in range(40):
        (tmp_path / str(seed)).mkdir()
        first = next(Neighbour(seed, tmp_path / str(seed)).carry_out(), None)
        if first is not None and "the neighbour's run failed" in first.text:
            return
    pytest.fail("nothing was found")
