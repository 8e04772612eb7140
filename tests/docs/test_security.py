"""SECURITY.md names what shows each of its sentences: all of that is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| **")]
NAMED = sorted(set(re.findall(r"`((?:tests|layers|facts)(?:/[\w.]+)+|uv\.lock)`", TEXT)))


@pytest.mark.parametrize("name", NAMED)
def test_what_it_names_is_there(name: str) -> None:
    assert (ROOT / name).exists() or (ROOT / "layers/core/src/fanout" / name).exists()


@pytest.mark.parametrize("row", ROWS, ids=[row[0].split("**")[1][:40] for row in ROWS])
def test_each_threat_says_by_what_it_is_shown(row: list[str]) -> None:
    assert len(row) == 4
    assert any(name in row[3] for name in NAMED) or "](docs/" in row[3]
