"""Pages are listed, short, and have one title."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, DOCUMENTS, INDEX, PAGES, ROOT, anchors, headings, name, prose, words

MOST_WORDS = 1_200
MOST_WORDS_OF_README = 500
WORDS_OF_A_DECISION = range(30, 151)
LISTED = re.compile(r"^(?:- |\| .*\? \| )\[([^]]+)\]\(([^)]+\.md)\)", re.MULTILINE)
LISTS = (INDEX, DOCS / "develop/benchmarks/index.md", DOCS / "develop/decisions/index.md")
LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
FOLDERS = ("start", "how-to", "operate", "reference", "understand", "develop")


def listed() -> Counter[Path]:
    """How often a list of pages names each page."""
    return Counter(
        (page.parent / link).resolve() for page in LISTS for _, link in LISTED.findall(page.read_text(encoding="utf-8"))
    )


def test_the_readme_is_short() -> None:
    assert words((ROOT / "README.md").read_text(encoding="utf-8")) <= MOST_WORDS_OF_README


def test_the_readme_names_the_two_commands_of_a_bare_machine() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert {"make demo", "make test"} <= {line.partition("#")[0].strip() for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_short_unless_it_is_a_reference(page: Path) -> None:
    if page != INDEX and page.parent.name != "reference":
        assert words(page.read_text(encoding="utf-8")) <= MOST_WORDS


@pytest.mark.parametrize("page", sorted((DOCS / "develop/decisions").glob("0*.md")), ids=name)
def test_a_decision_says_in_few_words_what_would_change_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert words(text) in WORDS_OF_A_DECISION
    assert "**Would change it.**" in text


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_has_one_title_and_is_listed_once(page: Path) -> None:
    assert sum(line.startswith("# ") for line in headings(page)) == 1
    if page != INDEX:
        assert listed()[page] == 1


def test_every_page_lies_in_a_folder_of_a_need() -> None:
    assert {page.relative_to(DOCS).parts[0] for page in PAGES if page != INDEX} == set(FOLDERS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_a_link_to_a_heading_finds_it(document: Path) -> None:
    links = LINK.findall("\n".join(prose(document.read_text(encoding="utf-8"))))
    missing = []
    for path, anchor in links:
        target = (document.parent / path).resolve() if path else document
        if target.suffix == ".md" and anchor not in anchors(target):
            missing.append(f"{path}#{anchor}")
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_a_line_of_prose_ends_at_120_characters(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    long = [line for line in prose(text) if len(line) > 120 and not line.startswith(("|", "#", "- [", "!["))]
    assert not long
