"""report.html in a real browser: quiet, true to summary.json, readable by everyone, and safe to open."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import convert
from playwright.sync_api import Page

from fanout.books.next_step import next_step_of
from fanout.books.step import Verb
from fanout.books.summary_document import SummaryDocument
from fanout.report.origin import place_of
from fanout.report.text import dollars, duration, size, spoken
from fanout.request.plan import Origin
from tests.browser.conftest import Open, Report, make_report
from tests.browser.faults import faults
from tests.support.paced_runs import MINUTES, decisions
from tests.support.runs import HOSTILE

PHONE = {"width": 360, "height": 740}
LARGEST_PAGE_BYTES = 1_000_000


def rows_of(page: Page, table: str) -> dict[str, list[str]]:
    """The cells of a table by the head of their row."""
    rows = page.eval_on_selector_all(
        f"{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    return {head: cells for head, *cells in rows}


def show_all(page: Page) -> None:
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")


def test_it_says_nothing_asks_for_nothing_and_is_small(report: Report, open_report: Open) -> None:
    opened = open_report(report)
    show_all(opened.page)
    assert opened.said == []
    assert opened.requests == [report.path.as_uri()]
    assert report.path.stat().st_size < LARGEST_PAGE_BYTES


def test_its_numbers_are_those_of_the_summary(report: Report, open_report: Open) -> None:
    page, summary = open_report(report).page, report.summary
    totals = rows_of(page, "#totals")
    for name, total in summary["totals"].items():
        if total["entries"] or name in ("listed", "copied"):
            assert totals[name][:2] == [f"{total['entries']:,}", f"{total['bytes']:,}"]
        else:
            assert name not in totals
    assert list(rows_of(page, "#phases"))[: len(summary["seconds"])] == list(summary["seconds"])
    equation = page.locator(".equation").inner_text()
    assert equation.startswith(f"{summary['totals']['listed']['entries']:,} listed")
    classes = page.eval_on_selector_all(
        "#failures table tbody tr", "rows => rows.map(row => row.cells[3].textContent.trim())"
    )
    assert classes == [f"{one['entries']:,}" for one in summary["failures_by_class"]]
    for row in summary["tasks"]:
        text = page.locator(f"#{row['phase']}").inner_text()
        assert f"{row['begun']:,} task" in text
        assert f"{row['done']:,} done" in text
        assert (f"{row['lost']:,} recorded no end" in text) == bool(row["lost"])
    sizes = page.locator("#sizes table tbody tr").all()
    assert [row.locator("td").first.text_content() for row in sizes] == [f"{r['entries']:,}" for r in summary["sizes"]]


def test_its_dollars_and_predicted_seconds_are_those_of_the_summary(report: Report, open_report: Open) -> None:
    page, forecast = open_report(report).page, report.summary["forecast"]
    if forecast is None:
        assert page.locator("#forecast").count() == 0
        return
    rows = rows_of(page, "#forecast-dollars")
    for name, predicted in forecast["dollars"].items():
        theirs = forecast["datasync_dollars"].get(name)
        wanted = [predicted, forecast["actual_dollars"][name], theirs]
        assert rows[spoken(name)] == ["" if value is None else dollars(value) for value in wanted]
    assert rows["DataSync's own fee"][-1] == dollars(forecast["datasync_dollars"]["fee"])
    phases = rows_of(page, "#phases")
    for phase, seconds in forecast["predicted_seconds"].items():
        took = forecast["actual_seconds"].get(phase)
        assert phases[phase][:2] == ["not done" if took is None else duration(took), duration(seconds)]
    assert set(phases) == set(forecast["predicted_seconds"]) | set(forecast["actual_seconds"])


def test_the_verdict_comes_first_and_the_way_to_retry_with_it(report: Report, open_report: Open) -> None:
    page, status = open_report(report).page, report.summary["status"]
    headline = {"SUCCEEDED": "Succeeded", "FAILED_WITH_ITEMS": "Finished with failed entries", "FAILED": "Failed"}
    nothing = not report.summary["totals"]["listed"]["entries"] and status == "SUCCEEDED"
    wanted = "0 objects below this prefix" if nothing else headline[status]
    differences = (report.summary["verification"] or {}).get("differences")
    if report.summary["mode"] == "verify" and differences:
        wanted = "Trees differ: "
    elif report.summary["planned"] is not None:
        wanted = f"Would copy {report.summary['planned']['to_copy']['entries']}"
    assert wanted in page.locator("main h1").inner_text()
    assert page.locator("main > :first-child h1").count() == 1
    commands = page.locator("#failures pre").all_inner_texts()
    run_id = report.summary["run_id"]
    step = next_step_of(convert(report.summary, SummaryDocument))
    resumes = [f'{{"resume_from": "{run_id}"}}'] if step.verb is Verb.RETRY and report.summary["mode"] == "copy" else []
    place = place_of(Origin(**report.summary["origin"]))
    assert commands[1:] == resumes if status != "SUCCEEDED" else not commands
    for command in commands[:1]:
        assert command.startswith(f"fanout {step.verb.value.partition(' ')[0]} ")
        assert command.endswith(place.option)


def test_its_head_says_where_the_run_took_place(report: Report, open_report: Open) -> None:
    page, origin = open_report(report).page, Origin(**report.summary["origin"])
    place = place_of(origin)
    head = page.locator("#verdict .place")
    assert [" ".join(text.split()) for text in head.locator(".end").all_inner_texts()] == [
        f"{name} {value}" for name, value in place.facts.items()
    ]
    links = [(link.inner_text(), link.get_attribute("href")) for link in head.locator("a").all()]
    assert links == [(link.text, link.url) for link in place.links]
    assert bool(links) == origin.execution.startswith("arn:")


def test_the_run_before_stands_beside_it(report: Report, open_report: Open) -> None:
    page, earlier = open_report(report).page, report.summary["earlier"]
    rows = rows_of(page, "#compared-figures")
    if earlier is None:
        assert rows == {} and page.locator("#compared").count() == 0
        return
    totals = [one["totals"] for one in (report.summary, earlier)]
    for name, result in (("Listed", "listed"), ("Copied", "copied")):
        assert rows[name][:2] == [f"{one[result]['entries']:,}" for one in totals]
    assert rows["Copied, size"][:2] == [size(one["copied"]["bytes"]) for one in totals]
    assert rows["Took"][:2] == [duration(sum(report.summary["seconds"].values())), duration(earlier["seconds"])]
    assert rows["Counted cost"][1] == dollars(earlier["dollars"])
    assert page.locator("#compared p b").inner_text() == earlier["run_id"]
    page.get_by_role("link", name="Compared with the last run").click()
    assert page.evaluate("location.hash") == "#compared"


def test_axe_finds_nothing_to_fault(report: Report, open_report: Open) -> None:
    page = open_report(report, bypass_csp=True).page
    show_all(page)
    assert faults(page) == []


def test_a_phone_needs_no_sideways_scrolling(report: Report, open_report: Open) -> None:
    page = open_report(report, viewport=PHONE).page
    show_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    smallest = page.eval_on_selector_all(
        "main *", "all => Math.min(...all.map(one => parseFloat(getComputedStyle(one).fontSize)))"
    )
    assert smallest >= 12


def test_it_can_be_used_by_keyboard_alone(report: Report, open_report: Open) -> None:
    page = open_report(report).page
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("one => one === document.activeElement")
    box = skip.bounding_box()
    assert box is not None and box["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    stops = page.locator("main :is(a, summary, [tabindex='0'])").count()
    seen = set()
    for _ in range(stops):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            "(() => { const one = document.activeElement, box = one.getBoundingClientRect();"
            " return [`${one.tagName} ${box.x} ${box.y + scrollY}`, getComputedStyle(one).outlineStyle]; })()"
        )
        if place.startswith("BODY"):  # what lies in closed details is no stop
            break
        assert outline == "solid", place
        seen.add(place)
    assert len(seen) >= page.locator("main :is(a, summary)").count()


def test_every_chart_has_words_and_a_table(report: Report, open_report: Open) -> None:
    page = open_report(report).page
    for chart in page.locator("svg[role=img]").all():
        title = chart.get_attribute("aria-labelledby")
        assert len(page.locator(f"#{title}").text_content() or "") > 20
    for section in page.locator("section:has(svg.chart)").all():
        assert section.locator("details table").count() > 0
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(one => +one.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_pacing_is_told_as_it_was_decided(tmp_path: Path, open_report: Open) -> None:
    page = open_report(make_report("paced", tmp_path)).page
    section = page.locator("#pacing")
    assert f"{MINUTES} decisions" in section.inner_text()
    titles = " ".join(section.locator("svg[role=img]").all_text_contents())
    assert all(name in titles for name in ("Functions at once", "Rate of all", "Burst credits: data", "PercentIOLimit"))
    show_all(page)
    rows = [row.max_concurrency for row in decisions(0.0)]
    shown = [row.locator("th, td").all_inner_texts() for row in section.locator("tbody tr").all()]
    concurrencies = [int(cells[1]) for cells in shown]
    assert (concurrencies[0], concurrencies[-1]) == (rows[0], rows[-1])
    assert set(concurrencies) == set(rows)  # no change is left out
    assert "PercentIOLimit" in shown[-1][-1] and len(shown) < 24
    charts = section.locator(".charts").inner_text()
    assert "MiB/s" in charts and "600 GiB" in charts and "GiB/s" not in charts


def test_what_was_not_known_is_a_gap_in_its_chart_and_not_a_zero(tmp_path: Path, open_report: Open) -> None:
    section = open_report(make_report("paced", tmp_path)).page.locator("#pacing")
    percents = section.locator("svg[role=img]").filter(has_text="PercentIOLimit")
    assert "10 min 0" in (percents.locator("title").text_content() or "")
    boxes = percents.locator("path.line").evaluate_all(
        """all => all.map(path => {
            const drawn = [];
            for (let x = 5; x < 1000; x += 10)
                drawn.push(path.isPointInStroke(new DOMPoint(x, path.getPointAtLength(0).y)) ||
                    [...Array(1001).keys()].some(y => path.isPointInStroke(new DOMPoint(x, y / 10))));
            return drawn;
        })"""
    )
    (drawn,) = boxes
    missing = [index / len(drawn) for index, there in enumerate(drawn) if not there]
    assert missing and min(missing) == pytest.approx(5 / 59, abs=0.02)
    assert max(missing) == pytest.approx(15 / 59, abs=0.03)
    whole = section.locator("svg[role=img]").filter(has_text="Functions at once")
    assert "without a value" not in (whole.locator("title").text_content() or "")


def test_hostile_names_are_shown_and_do_nothing(tmp_path: Path, open_report: Open) -> None:
    opened = open_report(make_report("hostile", tmp_path))
    page = opened.page
    show_all(page)
    assert page.title() == "Finished with failed entries: transfer run-1"
    assert page.locator("script, img, iframe, [onload], [onerror]").count() == 0
    assert page.locator("h1").count() == 1
    shown = page.locator("code.path").all_text_contents()
    assert len(shown) == len(HOSTILE)
    for part in ("<script>document.title='hostile'</script>", "</style></main><h1>taken</h1>", "{{ 7 * 7 }}{% raw %}"):
        assert any(part in path for path in shown), part
    for escape in ("caf\\xe9", "invoice\\u202efdp.exe", "two\\nlines\\r\\tand\\x1b[31mred", "zero\\u200bwidth\\u2066"):
        assert any(escape in path for path in shown), escape
    everything = page.locator("html").text_content() or ""
    assert {char for char in everything if unicodedata.category(char) in ("Cc", "Cf", "Cs")} <= {"\n"}
    assert opened.said == []


def test_its_policy_refuses_what_it_does_not_hold(tmp_path: Path, open_report: Open) -> None:
    opened = open_report(make_report("empty", tmp_path))
    refused = opened.page.evaluate(
        """async () => {
            const refused = [];
            document.addEventListener("securitypolicyviolation", event => refused.push(event.effectiveDirective));
            await fetch("http://127.0.0.1:9/").catch(() => null);
            const script = document.createElement("script");
            script.textContent = "document.title = 'acted'";
            document.body.append(script);
            document.body.setAttribute("style", "color: red");
            await new Promise(done => setTimeout(done, 200));
            return [...refused, document.title];
        }"""
    )
    assert refused[-1] == "0 objects below this prefix: transfer run-1"
    assert {one.removesuffix("-elem").removesuffix("-attr") for one in refused[:-1]} == {
        "connect-src",
        "script-src",
        "style-src",
    }
    assert opened.requests == [(tmp_path / "report.html").as_uri()]
