"""The pages of the documentation, as the tests read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *PAGES])


def name(page: Path) -> str:
    """The path of a document below the checkout."""
    return page.relative_to(ROOT).as_posix()


@cache
def text_of(page: Path) -> str:
    """A document, read once."""
    return page.read_text(encoding="utf-8")


def prose(text: str) -> Iterator[str]:
    """The lines of a page that are no code."""
    code = False
    for line in text.splitlines():
        if line.startswith("```"):
            code = not code
        elif not code:
            yield line


@cache
def headings(page: Path) -> tuple[str, ...]:
    """The headings of a page with their signs."""
    return tuple(line for line in prose(text_of(page)) if re.match("#{1,6} ", line))


@cache
def anchors(page: Path) -> frozenset[str]:
    """What a link to a heading of the page names after its ``#``."""
    return frozenset(re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in headings(page))


def words(text: str) -> int:
    """How many words a text has: what holds no letter and no digit, such as the bars of a table, is none."""
    return sum(any(map(str.isalnum, word)) for word in text.split())
