"""Runs that publish pass PublishVersion last, however they go; a rollback passes nothing else."""

from __future__ import annotations

import pytest

from fanout.model.errors import AccessDenied, LedgerBroken, Superseded

from .engine import Engine
from .failing import always

END = ("SummariseTransfer", "TransferSucceeded?")


def test_a_rollback_lists_and_copies_nothing(engine: Engine) -> None:
    engine.transfer(publishes="rollback", switches=2, shards=())
    assert engine.run().status == "SUCCEEDED"
    assert engine.entered() == [
        *("PlanTransfer", "AlreadyRunning?", "CheckMount", "OtherMount?"),
        *("PublishVersion", "VersionPublished?", "PublishVersion", "VersionPublished?"),
        *(*END, "Succeeded"),
    ]


def test_a_run_publishes_after_its_tree_is_finished_and_verified(engine: Engine) -> None:
    engine.transfer(publishes="copy", verify="copied")
    assert engine.run().status == "SUCCEEDED"
    entered = engine.entered()
    assert entered.index("FinishTree") < entered.index("VerifyShards") < entered.index("PublishVersion")
    assert entered[-4:] == ["VersionPublished?", *END, "Succeeded"]


def test_a_run_that_does_not_publish_passes_it_by(engine: Engine) -> None:
    engine.transfer()
    engine.run()
    assert "PublishVersion" not in engine.entered()


@pytest.mark.parametrize("task", ["ListSegment", "PartitionShards", "FinishTree"])
def test_a_run_that_breaks_off_comes_by_with_its_error_and_gives_up_its_right_to_write(
    engine: Engine, task: str
) -> None:
    engine.transfer(publishes="copy")
    engine.service.functions[task] = always(LedgerBroken("missing"))
    assert engine.run().status == "FAILED"
    (event,) = engine.service.calls("PublishVersion")
    assert event["state"]["error"]["Error"] == "LedgerBroken"


@pytest.mark.parametrize("error", [Superseded("run-1"), AccessDenied("switching", "/site", "let it")])
def test_what_cannot_be_published_fails_the_run_after_its_summary(engine: Engine, error: Exception) -> None:
    engine.transfer(publishes="copy")
    engine.service.functions["PublishVersion"] = always(error)
    assert engine.run().status == "FAILED"
    (event,) = engine.service.calls("SummariseTransfer")
    assert event["state"]["error"]["Error"] == type(error).__name__
