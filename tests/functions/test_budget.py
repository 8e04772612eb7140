"""The deployed functions keep to ``limits.max_dollars``, with a count in the ledger of the work bucket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanout.model.errors import BudgetRefused, OutOfBudget
from tests.functions.conftest import Invoke
from tests.functions.test_handlers import REQUEST, started


def listed(s3: Any, invoke: Invoke, request: dict[str, Any]) -> dict[str, Any]:
    """The reference of a run that has listed ten objects."""
    for number in range(10):
        s3.put_object(Bucket="data-bucket", Key=f"in/{number}", Body=b"x" * number)
    state = invoke("PlanTransfer", {"request": request, **started("run-1")})
    run: dict[str, Any] = state["run"]
    invoke("CheckMount", {"run": run})
    invoke("ListSegment", {"run": run, "segment": state["list"]["segment"]})
    invoke("GatherSegments", {"run": run, "list": state["list"]})
    return run


def spending(s3: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        s3.get_object(Bucket="work-bucket", Key="runs/run-1/spending.json")["Body"].read()
    )
    return found


def test_a_forecast_over_the_budget_is_refused(s3: Any, invoke: Invoke) -> None:
    run = listed(
        s3, invoke, {**REQUEST, "limits": {"max_dollars": 5}, "prices": {"s3_get": 1.0, "lambda_request": 0.0}}
    )
    with pytest.raises(BudgetRefused, match=r"limits\.max_dollars"):
        invoke("PartitionShards", {"run": run})


def test_a_function_counts_and_stops_where_the_run_has_spent_it(s3: Any, invoke: Invoke) -> None:
    run = listed(s3, invoke, {**REQUEST, "limits": {"max_dollars": 5}})
    counted = spending(s3)
    assert 0 < counted["dollars"] < 1
    shards = invoke("PartitionShards", {"run": run})
    [row] = json.loads(s3.get_object(Bucket="work-bucket", Key=shards["key"])["Body"].read())
    s3.put_object(
        Bucket="work-bucket",
        Key="runs/run-1/spending.json",
        Body=json.dumps({**counted, "dollars": 5.0}).encode(),
    )
    with pytest.raises(OutOfBudget, match=r"\$5\.00 of \$5\.00"):
        invoke("CopyShard", {"run": run, "shard": row["shard"], "cursor": 0})


def test_a_run_without_a_budget_writes_no_count(s3: Any, invoke: Invoke) -> None:
    listed(s3, invoke, REQUEST)
    found = s3.list_objects_v2(Bucket="work-bucket", Prefix="runs/run-1/spending")
    assert found["KeyCount"] == 0
