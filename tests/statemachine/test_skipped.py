"""A run of a transfer that goes on already ends green, with the reason, and nothing else is called."""

from __future__ import annotations

from fanout.model.errors import DestinationBusy

from .engine import Engine
from .failing import FailFirst

BUSY = DestinationBusy("efs://data/projects/alpha/", "run-0", "sync")


def test_the_second_run_of_a_transfer_is_skipped_and_says_why(engine: Engine) -> None:
    engine.transfer(holder="run-0")
    result = engine.run()
    reason = "the run run-0 carries out the same transfer"
    assert result.status == "SUCCEEDED"
    assert result.output == {"status": "SKIPPED", "reason": reason, "holder": "run-0"}
    assert engine.entered() == ["PlanTransfer", "AlreadyRunning?", "Skipped"]
    assert engine.service.called() == ["PlanTransfer"]


def test_another_transfer_to_the_same_tree_is_waited_for_and_then_the_run_goes_on(engine: Engine) -> None:
    engine.transfer()
    functions = engine.service.functions
    functions["PlanTransfer"] = FailFirst(functions["PlanTransfer"], *[BUSY] * 8)
    assert engine.run().status == "SUCCEEDED"
    assert engine.waits == [30, 60, 120, 240, 300, 300, 300, 300]


def test_who_has_waited_to_the_end_is_told_whom_for(engine: Engine) -> None:
    engine.transfer()
    engine.definition["States"]["PlanTransfer"]["Retry"][0]["MaxAttempts"] = 2
    functions = engine.service.functions
    functions["PlanTransfer"] = FailFirst(functions["PlanTransfer"], *[BUSY] * 3)
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "DestinationBusy")
    assert "run-0" in result.cause and engine.entered() == ["PlanTransfer", "FailedInvalidRequest"]
