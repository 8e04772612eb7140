"""Documents of self-tests, made from real rows as the command makes them."""

from __future__ import annotations

from typing import Any

from fanout.ports.finding import fail, ok
from fanout_cli.selftest.cases import Case, SelftestPlace, cases_of
from fanout_cli.selftest.data_sizes import PROFILES
from fanout_cli.selftest.page import document_of
from fanout_cli.selftest.runner import CaseRow, fill

PLACE = SelftestPlace("data-bucket", "20261123t000000")
ABOUT = {
    "id": PLACE.test_id,
    "stack": "fanout",
    "region": "eu-west-1",
    "bucket": PLACE.bucket,
    "size": "small",
    "budget_dollars": 20.0,
    "spent_dollars": 0.25,
    "began": "2026-11-23T00:00:00+00:00",
    "ended": "2026-11-23T00:10:00+00:00",
}


def summary_of(case: Case, **totals: int) -> dict[str, Any]:
    """A summary that says what a case expects, unless told otherwise."""
    names = ("listed", "copied", "unchanged", "skipped", "failed", "rejected", "deleted")
    counts = {"listed": case.entries, **case.expected, **totals}
    return {
        "totals": {name: {"entries": counts.get(name, 0), "bytes": 0} for name in names},
        "forecast": {
            "predicted_seconds": {"list": 2.0, "copy": 10.0},
            "dollars": {"total": 0.02},
            "actual_dollars": {"total": 0.03},
        },
        "verification": {"differences": 0},
    }


def rows_of(**totals: int) -> list[CaseRow]:
    """The rows of all cases; ``totals`` are those of the first."""
    rows = []
    for number, case in enumerate(cases_of(PLACE, PROFILES["small"])):
        row = CaseRow(case.name, case.title, estimate={"seconds": 11.0, "dollars": 0.02})
        fill(row, case, summary_of(case, **(totals if number == 0 else {})), 14.0)
        rows.append(row)
    return rows


def proven() -> dict[str, Any]:
    """A self-test in which everything came out as expected."""
    return document_of(ABOUT, [ok("network of mount data: S3", "connected in 3 ms")], rows_of(), [])


def hostile() -> dict[str, Any]:
    """One in which much went wrong, with texts that want to be markup, and a case that did not run."""
    rows = rows_of(copied=1)
    rows[-1] = CaseRow("many-small-files", "Many small files", problems=["<script>document.title = 'taken'</script>"])
    findings = [fail("mount data", "<b>gone</b>", "mount it")]
    return document_of(ABOUT, findings, rows, ["efs:///fanout-selftest-x is left: \u202edenied"])
