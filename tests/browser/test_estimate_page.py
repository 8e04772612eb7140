"""The page of ``fanout estimate --by`` in a real browser: quiet, true to the estimate, readable by everyone."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import to_builtins

from fanout.report.page import render_finish
from fanout.request.parse import parse_request
from fanout_cli.estimates.from_totals import EstimateFacts, choose_estimated
from tests.browser.conftest import Open, Report
from tests.browser.faults import faults
from tests.browser.test_report_page import PHONE, show_all

# A state is dear here, and nothing else differs between plans: so there are several.
ENDS = {"source": "s3://my-data/in/", "destination": "s3://other/in/"}
REQUEST = {**ENDS, "prices": {"transition": 0.001, "s3_put": 0.0}}


@pytest.fixture(scope="module", params=["12m", "1m"])
def estimated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The page of a time that a plan reaches, and of one that none does."""
    path: Path = tmp_path_factory.mktemp(request.param) / "plans.html"
    document = {**REQUEST, "limits": {"finish_by": request.param}}
    _, finish = choose_estimated(parse_request(document, (), 200), EstimateFacts(300_000, 50 * 10**12), 1_700_000_000.0)
    path.write_text(render_finish(finish, "s3://my-data/in/", "s3://other/in/"), encoding="utf-8")
    return Report(request.param, path, to_builtins(finish))


def test_it_says_nothing_asks_for_nothing_and_has_a_dot_for_each_plan(estimated: Report, open_report: Open) -> None:
    opened = open_report(estimated)
    show_all(opened.page)
    plans = estimated.summary["plans"]
    assert opened.said == [] and opened.requests == [estimated.path.as_uri()]
    assert opened.page.locator("#curve circle").count() == opened.page.locator("tbody tr").count() == len(plans) > 3
    taken = 1 if estimated.kind == "12m" else 0
    assert opened.page.locator("#curve circle.taken").count() == taken
    assert opened.page.locator("h1").inner_text().startswith("Ends at" if taken else "No plan ends in time")


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
def test_everyone_can_read_it(estimated: Report, open_report: Open, viewport: dict[str, int] | None) -> None:
    opened = open_report(estimated, bypass_csp=True, **({"viewport": viewport} if viewport else {}))
    show_all(opened.page)
    assert faults(opened.page) == []
    assert viewport is None or opened.page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
