"""The tests of ``tests/runs/test_write_protected.py`` on a mount of a real server, which holds modes against a user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.nfs.inside.mounts import Mounts
from tests.runs.test_write_protected import (
    test_a_sync_puts_in_replaces_and_deletes_and_leaves_the_modes_as_they_are,
    test_the_next_run_closes_what_a_dead_one_opened,
)
from tests.support.nobody import NOBODY

__all__ = [
    "test_a_sync_puts_in_replaces_and_deletes_and_leaves_the_modes_as_they_are",
    "test_the_next_run_closes_what_a_dead_one_opened",
]


@pytest.fixture(params=["a", "point"])
def mount(mounts: Mounts, request: pytest.FixtureRequest) -> Path:
    """As a user, and behind an access point that makes one user of all."""
    root: Path = getattr(mounts, request.param)
    for name in ("in", "out"):
        (root / name).mkdir()
        if request.param == "a":
            os.chown(root / name, NOBODY, NOBODY)
    return root
