"""The ends that most of these tests compare."""

from __future__ import annotations

import pytest

from tests.checksums.ends import FROM_S3, Ends, ends


@pytest.fixture
def one() -> Ends:
    """Objects of somebody else, without checksums, and their copies on a mount."""
    return ends(FROM_S3)
