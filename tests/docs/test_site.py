"""The site is built from docs/ by ``make site``, which fails at what leads nowhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, PAGES, ROOT

MKDOCS = ROOT / ".fanout/tools/site/bin/mkdocs"
QUIET = {"NO_MKDOCS_2_WARNING": "1"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the site is made of."""
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copytree(ROOT / "benchmarks/results", tmp_path / "benchmarks/results")
    (tmp_path / "tools").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in ("mkdocs.yml", "scripts/site_hooks.py", "LICENSE", "SECURITY.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "tools/checkov-exceptions.toml", tmp_path / "tools")
    return tmp_path


def build(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The build as ``make site`` carries it out."""
    command = [str(MKDOCS), "build", "--strict", "--clean"]
    environ = os.environ | QUIET | environment
    return subprocess.run(command, cwd=checkout, env=environ, capture_output=True, text=True, timeout=120, check=False)


def test_make_builds_it_as_these_tests_do() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "NO_MKDOCS_2_WARNING=1 $(TOOLS)/site/bin/mkdocs build --strict --clean" in makefile


def test_it_is_built_and_links_out_of_the_docs_lead_to_the_repository(checkout: Path) -> None:
    ended = build(checkout, FANOUT_REPOSITORY="https://repository.example/fanout")
    assert ended.returncode == 0, ended.stderr
    site = checkout / ".fanout/site"
    built = {path.relative_to(site).parent.as_posix() for path in site.rglob("index.html")}
    assert {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if page.name != "index.md"} <= built
    licences = (site / "reference/licences/index.html").read_text(encoding="utf-8")
    assert 'href="https://repository.example/fanout/blob/main/LICENSE"' in licences
    assert "fonts.googleapis.com" not in licences


# What is added to which page, and what the build must say of it.
NOWHERE = [
    ("start/deploy.md", "\n[dead](nothing.md)\n", "nothing.md"),
    ("start/try-locally.md", "\n[dead](../../nothing-above.md)\n", "nothing-above.md"),
    ("start/first-copy.md", "\n[dead](deploy.md#nothing)\n", "#nothing"),
    ("start/outside.md", "# Outside of the navigation\n", "start/outside.md"),
]


def test_what_leads_nowhere_fails_the_build(checkout: Path) -> None:
    """A strict build fails at any warning and counts them, so one build shows that each is one."""
    for page, text, _ in NOWHERE:
        with (checkout / "docs" / page).open("a", encoding="utf-8") as file:
            file.write(text)
    ended = build(checkout)
    assert ended.returncode != 0
    assert [says for _, _, says in NOWHERE if says not in ended.stderr] == []
    assert f"Aborted with {len(NOWHERE)} warnings" in ended.stdout + ended.stderr


def entries(nav: object) -> list[str]:
    """The pages of a navigation, in its order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ()
    return [page for part in parts for page in entries(part)]


def test_the_navigation_has_the_order_of_the_index() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    first, *pages = entries(yaml.safe_load(text[text.index("\nnav:") :])["nav"])
    assert first == "index.md"
    index = (DOCS / "index.md").read_text(encoding="utf-8").partition("\n## ")[2]
    assert pages == sorted(pages, key=lambda page: index.index(f"({page})"))
