"""How hypothesis searches, and how the tests are shared out over processes (`make test` runs two)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# By chance at a desk, the same examples each time in CI, long when asked to.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "desk"))

E2E = Path(__file__).parent / "e2e"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep each file's tests in one process, and all that use the emulator in the one that begins with them."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group("e2e" if E2E in item.path.parents else str(item.path)))
    items.sort(key=lambda item: E2E not in item.path.parents)
