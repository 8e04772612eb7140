"""Debian's Chromium, with a profile of its own that is gone afterwards."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from fanout.model.document import Json
from tests.support import paced_runs, runs
from tests.support.flow import World

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "no Chromium on this machine: apt-get install --no-install-recommends chromium"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # One process for all pages: a page is opened in a third of the processor time.
    "--disable-features=site-per-process,IsolateOrigins,Translate,OptimizationHints,MediaRouter,PaintHolding",
    "--renderer-process-limit=1",
    "--in-process-gpu",
)
KINDS: dict[str, Callable[[], World]] = {
    "succeeded": runs.succeeded,
    "again": runs.again,
    "empty": runs.empty,
    "hostile": runs.hostile,
    "verified": runs.verified,
    "compared": runs.compared,
    "planned": runs.planned,
    "synced": runs.synced,
    "broken": runs.broken,
    "stopped": runs.stopped,
    "large": runs.large,
    "paced": paced_runs.paced,
    "in_time": runs.in_time,
}


@dataclass
class Report:
    """A run's page as a file, with the summary beside it."""

    kind: str
    path: Path
    summary: Json


@dataclass
class Opened:
    """A page in the browser, with what it said and what it asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


Open = Callable[..., Opened]


def find_chromium() -> str | None:
    """The program, if it is on the PATH."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; without one the tests are skipped, unless the gate requires it."""
    executable = find_chromium()
    if executable is None:
        if os.environ.get("FANOUT_BROWSER") == "required":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session", params=list(KINDS))
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of each kind of run."""
    return make_report(request.param, tmp_path_factory.mktemp(request.param))


def make_report(kind: str, directory: Path) -> Report:
    """The report of one kind of run."""
    world = KINDS[kind]()
    path = directory / "report.html"
    path.write_bytes(world.store.get(f"{world.ledger.prefix}report.html"))
    return Report(kind, path, world.ledger.read_json("summary.json"))


@pytest.fixture(scope="session")
def pages(browser: Browser) -> Callable[..., Page]:
    """A page for what a context takes, such as ``color_scheme``: the same each time, as a new one costs a second."""
    found: dict[str, Page] = {}

    def page_of(**options: Any) -> Page:
        key = repr(sorted(options.items()))
        if key not in found:
            found[key] = browser.new_context(**options).new_page()
        return found[key]

    return page_of


@pytest.fixture
def open_report(pages: Callable[..., Page]) -> Iterator[Open]:
    """Opens a report; takes what a context takes. The document of one test is gone before that of the next comes."""
    listening: list[tuple[Page, str, Callable[[Any], None]]] = []

    def open_one(report: Report, **options: Any) -> Opened:
        page = pages(**options)
        page.goto("about:blank")
        opened = Opened(page)
        hears: dict[str, Callable[[Any], None]] = {
            "console": lambda message: opened.said.append(message.text),
            "pageerror": lambda error: opened.said.append(str(error)),
            "dialog": lambda dialog: opened.said.append(dialog.message),
            "request": lambda request: opened.requests.append(request.url),
        }
        for event, hear in hears.items():
            opened.page.on(event, hear)  # type: ignore[call-overload]
            listening.append((page, event, hear))
        page.goto(report.path.as_uri())
        return opened

    yield open_one
    for page, event, hear in listening:
        page.remove_listener(event, hear)
