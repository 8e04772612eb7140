"""The report of the six kinds of end, as pictures in docs/screenshots.

python -m tests.browser.screenshots        writes them anew; needs Chromium
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import MISSING, QUIET, find_chromium
from tests.support import runs
from tests.support.flow import World

PICTURES = Path(__file__).parents[2] / "docs/screenshots"
SIZE = {"width": 960, "height": 720}
# The runs by the name of their picture.
ENDS: dict[str, Callable[[], World]] = {
    "success": lambda: runs.large(failures=0),
    "failures": runs.large,
    "plan": runs.planned,
    "differences": runs.compared,
    "sync": runs.synced,
    "stopped": runs.stopped,
}


def take(browser: Browser, world: World, picture: Path) -> None:
    """The first screen of a run's report."""
    with TemporaryDirectory() as directory:
        report = Path(directory, "report.html")
        report.write_bytes(world.store.get(f"{world.ledger.prefix}report.html"))
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(report.as_uri())
        page.screenshot(path=picture)
        page.close()


def main() -> None:
    """Take all of them."""
    executable = find_chromium()
    if executable is None:
        sys.exit(MISSING)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET)
        for name, make in ENDS.items():
            take(browser, make(), PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
