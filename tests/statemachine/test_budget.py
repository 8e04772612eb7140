"""A run at its budget: refused before anything is copied, or stopped with its books closed and nothing tried again."""

from __future__ import annotations

from fanout.model.errors import BudgetRefused, OutOfBudget

from .engine import Engine
from .failing import always


def test_a_refused_run_copies_nothing_and_says_so(engine: Engine) -> None:
    engine.transfer(shards=("a",), extras=("x",))
    engine.service.functions["PartitionShards"] = always(BudgetRefused(3.0, 2.0))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "BudgetRefused")
    assert {"CopyShard", "DeleteShard"}.isdisjoint(engine.service.called())


def test_a_shard_that_the_budget_does_not_reach_is_tried_once_and_the_run_is_summarised(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"))
    engine.service.functions["CopyShard"] = always(OutOfBudget(5.0, 4.0))
    engine.run()
    called = engine.service.called()
    assert called.count("CopyShard") == 2
    errors = [event["error"]["Error"] for event in engine.service.calls("RecordShardFailure")]
    assert errors == ["OutOfBudget", "OutOfBudget"]
    assert called[-1] == "SummariseTransfer"
