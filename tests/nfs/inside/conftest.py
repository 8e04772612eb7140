"""The mounts of the guest, which ``tests/nfs/lab/guest/serve`` made, and the faults that it can have."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nfs.inside.faults import Faults
from tests.nfs.inside.mounts import MOUNTS, Mounts


@pytest.fixture
def mounts() -> Mounts:
    """One new directory of the server as each client sees it."""
    place = Path(tempfile.mkdtemp(dir=MOUNTS / "served"))
    place.chmod(0o777)
    return Mounts(place.name)


@pytest.fixture
def faults() -> Iterator[Faults]:
    """What can go wrong; everything is well again afterwards."""
    made = Faults()
    yield made
    made.close()
