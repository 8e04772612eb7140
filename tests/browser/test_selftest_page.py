"""selftest.html in a real browser: quiet, true to selftest.json, readable by everyone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout_cli.selftest.page import write
from tests.browser.conftest import Open, Report
from tests.browser.faults import faults
from tests.browser.test_report_page import PHONE
from tests.support import selftests

KINDS = {"proven": selftests.proven, "hostile": selftests.hostile}


@pytest.fixture(scope="module", params=list(KINDS))
def tested(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """The page of a self-test that proved everything, and of one that found much wrong."""
    document = KINDS[request.param]()
    paths = write(document, tmp_path_factory.mktemp(request.param))
    yield Report(request.param, Path(paths["page"]), document)


def test_it_says_nothing_and_asks_for_nothing(tested: Report, open_report: Open) -> None:
    opened = open_report(tested)
    assert opened.said == []
    assert opened.requests == [tested.path.as_uri()]
    assert opened.page.title().startswith("Proven: " if tested.kind == "proven" else "Not as expected: ")


def test_it_shows_what_selftest_json_says(tested: Report, open_report: Open) -> None:
    page = open_report(tested).page
    assert page.locator("#cases tbody tr").count() == len(tested.summary["cases"])
    assert page.locator("#doctor tbody tr").count() == len(tested.summary["doctor"])
    assert page.locator("#wrong li").count() == len(tested.summary["wrong"])
    first = page.locator("#cases tbody tr").first.inner_text()
    assert "$0.0200" in first and "$0.0300" in first and "14" in first


def test_axe_finds_nothing_to_fault(tested: Report, open_report: Open) -> None:
    assert faults(open_report(tested, bypass_csp=True).page) == []


def test_a_phone_needs_no_sideways_scrolling(tested: Report, open_report: Open) -> None:
    page = open_report(tested, viewport=PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
