"""What is wrong with a page is found in either scheme, and in a row that is not as those before it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.faults import faults

PAGE = """<!doctype html><html lang="en"><title>A page</title>
<style>:root {{ color-scheme: light dark }} body {{ background: #fff; color: #000 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #000; color: #fff }} }} {style}</style>
<main><h1>A page</h1><table><thead><tr><th>Name<th>Value<tbody>
<tr><td>one<td>100<tr><td>two<td>200<tr class="other"><td>three<td>300</table>{more}</main></html>"""


@pytest.mark.parametrize(
    ("style", "more", "wanted"),
    [
        ("", "", []),
        (".other { color: #eee }", "", [("color-contrast", "<td>three")]),
        ("@media (prefers-color-scheme: dark) { tbody tr { color: #222 } }", "", [("color-contrast", "<td>one")]),
        ("", "<input>", [("label", "<input>")]),
    ],
)
def test_a_fault_is_found(browser: Browser, style: str, more: str, wanted: list[tuple[str, str]]) -> None:
    page = browser.new_page(bypass_csp=True)
    page.set_content(PAGE.format(style=style, more=more))
    found = [(rule, element.split("</")[0]) for rule, element in faults(page)]
    page.close()
    assert found == wanted
