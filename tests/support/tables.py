"""Tables of the documentation, as the tests run them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def table(page: str, *header: str) -> list[list[list[str]]]:
    """The rows of the table with this header: in each cell the texts that stand as code."""
    lines = (DOCS / page).read_text().splitlines()
    start = lines.index(f"| {' | '.join(header)} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split(" | ")])
    return rows
