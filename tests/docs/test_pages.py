"""Pages are listed, short, and have one title."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.docs.pages import DOCS, DOCUMENTS, INDEX, PAGES, ROOT, anchors, headings, name, prose, text_of, words

MOST_WORDS = 1_200
MOST_WORDS_OF_README = 500
WORDS_OF_A_DECISION = range(30, 151)
LISTED = re.compile(r"^(?:- |\| .*\? \| )\[([^]]+)\]\(([^)]+\.md)\)", re.MULTILINE)
LISTS = (INDEX, DOCS / "develop/benchmarks/index.md", DOCS / "develop/decisions/index.md")
LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
FOLDERS = ("start", "how-to", "operate", "reference", "understand", "develop")


def listed() -> Counter[Path]:
    """How often a list of pages names each page."""
    return Counter((page.parent / link).resolve() for page in LISTS for _, link in LISTED.findall(text_of(page)))


def test_the_readme_is_short() -> None:
    assert words((ROOT / "README.md").read_text(encoding="utf-8")) <= MOST_WORDS_OF_README


def test_the_readme_names_the_two_commands_of_a_bare_machine() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert {"make demo", "make test"} <= {line.partition("#")[0].strip() for line in lines}


def test_a_page_is_short_unless_it_is_a_reference() -> None:
    bound = [page for page in PAGES if page != INDEX and page.parent.name != "reference"]
    counts = {name(page): words(text_of(page)) for page in bound}
    assert {page: count for page, count in counts.items() if count > MOST_WORDS} == {}


def test_a_decision_says_in_few_words_what_would_change_it() -> None:
    pages = {name(page): text_of(page) for page in (DOCS / "develop/decisions").glob("0*.md")}
    assert len(pages) > 10
    counts = {page: words(text) for page, text in pages.items()}
    assert {page: count for page, count in counts.items() if count not in WORDS_OF_A_DECISION} == {}
    assert [page for page, text in pages.items() if "**Would change it.**" not in text] == []


def test_a_page_has_one_title_and_is_listed_once() -> None:
    titles = {name(page): sum(line.startswith("# ") for line in headings(page)) for page in PAGES}
    assert {page: count for page, count in titles.items() if count != 1} == {}
    lists = listed()
    times = {name(page): lists[page] for page in PAGES if page != INDEX}
    assert {page: count for page, count in times.items() if count != 1} == {}


def test_every_page_lies_in_a_folder_of_a_need() -> None:
    assert {page.relative_to(DOCS).parts[0] for page in PAGES if page != INDEX} == set(FOLDERS)


def lost_anchors(document: Path) -> list[str]:
    """The links of a document to headings that are not there."""
    links = LINK.findall("\n".join(prose(text_of(document))))
    targets = [((document.parent / path).resolve() if path else document, path, anchor) for path, anchor in links]
    return [
        f"{name(document)}: {path}#{anchor}"
        for target, path, anchor in targets
        if target.suffix == ".md" and anchor not in anchors(target)
    ]


def test_a_link_to_a_heading_finds_it() -> None:
    assert [lost for document in DOCUMENTS for lost in lost_anchors(document)] == []


def test_a_line_of_prose_ends_at_120_characters() -> None:
    long = [f"{name(document)}: {line}" for document in DOCUMENTS for line in prose(text_of(document)) if is_long(line)]
    assert long == []


def is_long(line: str) -> bool:
    """Whether a line of prose is longer than 120 characters; rows, headings, entries of lists of pages may be."""
    return len(line) > 120 and not line.startswith(("|", "#", "- [", "!["))
