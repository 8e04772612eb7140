"""What axe finds wrong with a page: all of its rules once, and the contrast of colors in the light and in the dark.

Contrast takes nine tenths of axe's time. So a row is left out of it whose markup, but for its text, is that of a row
before it in its table: it has that one's colors.
"""

from __future__ import annotations

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
AGAIN = {"exclude": [["[data-again]"]]}
MARK = """bodies => {
    for (const body of bodies) {
        const seen = new Set();
        for (const row of body.rows) {
            const markup = row.outerHTML.replace(/>[^<]+</g, ">text<");
            row.toggleAttribute("data-again", seen.has(markup));
            seen.add(markup);
        }
    }
}"""


def faults(page: Page) -> list[tuple[str, str]]:
    """The rule and the element of each; the page is opened with ``bypass_csp``, as axe is put into it as a script."""
    contrast = "color-contrast"
    page.evaluate(Axe().axe_script)
    found = [*_found(page, None, {"rules": {contrast: {"enabled": False}}})]
    page.eval_on_selector_all("tbody", MARK)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found += _found(page, AGAIN, {"runOnly": {"type": "rule", "values": [contrast]}})
    page.emulate_media(color_scheme="null")
    return found


def _found(page: Page, context: dict[str, Any] | None, options: dict[str, Any]) -> list[tuple[str, str]]:
    told = page.evaluate(
        "([context, options]) => axe.run(context ?? document, options).then(told => told.violations)",
        [context, {"resultTypes": ["violations"], **options}],
    )
    return [(one["id"], one["nodes"][0]["html"]) for one in told]
