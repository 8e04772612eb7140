"""The line that compares a run on this machine with a stack."""

from __future__ import annotations

from typing import Any

import pytest

from fanout_cli.here.on_aws import on_aws

REQUEST = {"source": "s3://my-bucket/in/", "destination": "efs://local/srv/out", "mode": "copy"}
NONE = {"entries": 0, "bytes": 0}
GB = 10**9


def summary(seconds: float, entries: int, size: int, planned: Any = None, predicted: float = 0.0) -> dict[str, Any]:
    totals = dict.fromkeys(("copied", "failed", "rejected", "unchanged"), NONE)
    if planned is None:
        totals["copied"] = {"entries": entries, "bytes": size}
    forecast = {"predicted_seconds": {"copy": predicted}}
    return {"seconds": {"copy": seconds}, "totals": totals, "planned": planned, "forecast": forecast}


def test_a_long_run_names_the_time_the_functions_and_the_dollars_of_a_stack() -> None:
    line = on_aws(REQUEST, summary(6 * 3600, 1_000_000, 200 * GB))
    assert line.startswith("on AWS: about ") and " with 100 functions, $" in line


@pytest.mark.parametrize(
    ("seconds", "entries", "size"), [(59, 1_000_000, 200 * GB), (90, 1_000_000, 200 * GB), (6 * 3600, 0, 0)]
)
def test_nothing_is_said_where_a_stack_would_save_little_or_nothing_was_copied(
    seconds: float, entries: int, size: int
) -> None:
    assert on_aws(REQUEST, summary(seconds, entries, size)) == ""


def test_a_plan_compares_what_is_predicted_here_and_there() -> None:
    planned = {"to_copy": {"entries": 1_000_000, "bytes": 200 * GB}, "to_delete": NONE}
    assert on_aws(REQUEST, summary(3, 0, 0, planned, predicted=6 * 3600)).startswith("on AWS: about ")
    assert on_aws(REQUEST, summary(3, 0, 0, planned, predicted=90)) == ""
