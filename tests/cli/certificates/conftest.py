"""Certificates for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.certificates.issued import Issued


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Issued:
    """A certificate that no test changes."""
    return Issued(tmp_path_factory.mktemp("issued"))


@pytest.fixture
def issued(tmp_path: Path) -> Issued:
    return Issued(tmp_path)
