"""Pages are found, short, and one question each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, DOCUMENTS, INDEX, PAGES, ROOT, anchors, headings, name, prose, words

MOST_WORDS = 1_200
MOST_WORDS_OF_README = 500
ROW = re.compile(r"^\| (.*) \| \[.*\]\(([^)]+)\) \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
FOLDERS = ("start", "how-to", "operate", "reference", "understand", "develop")


def questions() -> dict[Path, list[str]]:
    """Each page that the index names, with its questions."""
    found: dict[Path, list[str]] = {}
    for question, link in ROW.findall(INDEX.read_text(encoding="utf-8")):
        found.setdefault(DOCS / link, []).append(question)
    return found


def test_the_readme_is_short() -> None:
    assert words((ROOT / "README.md").read_text(encoding="utf-8")) <= MOST_WORDS_OF_README


def test_the_readme_names_the_two_commands_of_a_bare_machine() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert {"make demo", "make test"} <= {line.partition("#")[0].strip() for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_short_unless_it_is_a_reference(page: Path) -> None:
    if page != INDEX and page.parent.name != "reference":
        assert words(page.read_text(encoding="utf-8")) <= MOST_WORDS


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "decisions"], ids=name)
def test_a_page_has_one_title_and_answers_one_question_of_the_index(page: Path) -> None:
    assert sum(line.startswith("# ") for line in headings(page)) == 1
    if page != INDEX:
        [question] = questions().get(page, ["the index does not name it"])
        assert question.endswith("?")


def test_every_decision_stands_in_the_index() -> None:
    text = INDEX.read_text(encoding="utf-8")
    missing = [page.name for page in PAGES if page.parent.name == "decisions" and f"/{page.name})" not in text]
    assert not missing


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
