"""probe.html in a real browser: quiet, true to probe.json, readable by everyone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Open, Report
from tests.browser.faults import faults
from tests.browser.test_report_page import PHONE, rows_of, show_all
from tests.support.probes import SMALL, ProbeWorld

CHARTS = [
    "Write latency by size",
    "Write throughput by threads",
    "Throughput by functions",
    "Write throughput by I/O size",
    "Write throughput by sync, and streamed",
    "Creations a second",
]


@pytest.fixture(scope="module", params=["whole", "broken"])
def probed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """The page of a probe that measured everything, and of one that broke off before it measured anything."""
    directory: Path = tmp_path_factory.mktemp(request.param)
    world = ProbeWorld([directory])
    if request.param == "whole":
        world.run(SMALL)
    else:
        world.plan(SMALL, "probe-1")
        world.summarise("probe-1", {"Error": "States.Timeout", "Cause": "<script>document.title = 'taken'</script>"})
    path = directory / "probe.html"
    path.write_bytes(world.store.get("runs/probe-1/probe.html"))
    yield Report(request.param, path, world.result())


def page_of(open_report: Open, probed: Report, **options: Any) -> Page:
    page: Page = open_report(probed, **options).page
    show_all(page)
    return page


def test_it_says_nothing_and_asks_for_nothing(probed: Report, open_report: Open) -> None:
    opened = open_report(probed)
    assert opened.said == []
    assert opened.requests == [probed.path.as_uri()]
    assert opened.page.title().startswith("Measured: probe" if probed.kind == "whole" else "Broken off: probe")


def test_it_shows_what_probe_json_says(probed: Report, open_report: Open) -> None:
    page = page_of(open_report, probed)
    headings = page.locator("section:has(svg.chart) h2").all_text_contents()
    missing = sum(len(experiment["not_measured"]) for experiment in probed.summary["experiments"])
    assert page.locator("#missing tbody tr").count() == missing
    if probed.kind == "broken":
        assert headings == [] and page.locator("#calibration").count() == 0
        assert "Infrastructure: States.Timeout: <script>" in page.locator(".sentence").inner_text()
        return
    assert headings == CHARTS
    threads = next(one for one in probed.summary["experiments"] if one["name"] == "write_by_threads")
    assert list(rows_of(page, "#chart-2")) == [str(point["threads"]) for point in threads["points"]]
    assert page.locator("#chart-2 circle.point title").count() == len(threads["points"])
    legend = page.locator("#chart-2 .legend").inner_text()
    assert "network of a function: 74.4 MiB/s" in legend and "file system (assumed): 100 MiB/s" in legend


def test_axe_finds_nothing_to_fault(probed: Report, open_report: Open) -> None:
    assert faults(page_of(open_report, probed, bypass_csp=True)) == []


def test_a_phone_needs_no_sideways_scrolling(probed: Report, open_report: Open) -> None:
    page = page_of(open_report, probed, viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_every_chart_has_words_and_a_table(probed: Report, open_report: Open) -> None:
    page = page_of(open_report, probed)
    for chart in page.locator("svg[role=img]").all():
        title = chart.get_attribute("aria-labelledby")
        assert len(page.locator(f"#{title}").text_content() or "") > 20
    for section in page.locator("section:has(svg.chart)").all():
        assert section.locator("details table").count() == 1
