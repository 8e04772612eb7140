"""Each test has its own umask."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)
