"""The site's search leads a reader's words to the page that answers them."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.docs.pages import ROOT

ANSWERS = {
    "exclude": "how-to/filters/",
    "dry-run": "start/first-copy/",
    "exit code": "reference/commands/",
    "uninstall": "operate/delete/",
    "NoSuchBucket": "reference/errors/",
    "hidden files": "understand/what-is-copied/",
    "progress": "operate/monitoring/",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site without a line a request."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    built = tmp_path_factory.mktemp("site")
    command = [str(ROOT / ".fanout/tools/site/bin/mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(built)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True, timeout=120)
    handler = functools.partial(Quiet, directory=Path(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def searched(browser: Browser, site: str) -> Iterator[Page]:
    """A page of the site whose search is open."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(site)
    page.get_by_role("textbox", name="Search").click()
    yield page
    context.close()


def found(searched: Page, site: str, words: str) -> list[str]:
    """The pages that the search shows for what is typed, without the site's address and the heading."""
    box = searched.get_by_role("textbox", name="Search")
    box.fill("")
    box.press("Backspace")
    empty = "() => document.querySelectorAll('.md-search-result__link').length == 0"
    searched.wait_for_function(empty, timeout=60_000)
    # A key starts a search, so what is filled in starts none before the last letter.
    box.fill(words[:-1])
    box.press(words[-1])
    searched.wait_for_function(empty.replace("== 0", "> 0"), timeout=60_000)
    links = [link.get_attribute("href") or "" for link in searched.locator(".md-search-result__link").all()]
    return [link.removeprefix(site).partition("#")[0].partition("?")[0] for link in links]


@pytest.mark.parametrize("words", ANSWERS)
def test_the_first_result_answers(searched: Page, site: str, words: str) -> None:
    assert found(searched, site, words)[0] == ANSWERS[words]


def test_no_decision_and_no_benchmark_is_found(searched: Page, site: str) -> None:
    assert not [link for link in found(searched, site, "globs") if "/decisions/" in link or "/benchmarks/" in link]
