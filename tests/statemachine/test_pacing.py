"""PaceCopy runs beside the copying, ends with it, and never decides how a run ends."""

from __future__ import annotations

import time

import pytest

from fanout.model.errors import AccessDenied, LedgerBroken

from .engine import MOTO_ALONE, Engine
from .failing import FailFirst, always
from .fake_functions import FakeTransfer
from .lambda_service import Event
from .test_retries import PASSING_ERRORS

SHARDS = ("a", "b", "c", "d")


def ends_noted(engine: Engine) -> list[bool]:
    """What each call of the function was for."""
    return [event["step"] == "EndPacing" for event in engine.service.calls("PaceCopy")]


def hold_copies(engine: Engine, fake: FakeTransfer, calls: int) -> None:
    """No shard is copied before PaceCopy was called so often."""

    def copy_shard(event: Event) -> Event:
        while len(engine.service.calls("PaceCopy")) < calls:
            time.sleep(0.01)
        return fake.copy_shard(event)

    engine.service.functions["CopyShard"] = copy_shard


@MOTO_ALONE
def test_it_paces_until_all_is_copied_and_is_told_so(engine: Engine) -> None:
    fake = engine.transfer(shards=SHARDS, paced=True)
    hold_copies(engine, fake, calls=3)
    assert engine.run().status == "SUCCEEDED"
    called = ends_noted(engine)
    assert called.count(True) == 1 and called[:3] == [False] * 3
    paced = engine.service.calls("PaceCopy")[0]
    assert sorted(paced) == ["execution", "run", "shards", "step"]
    assert paced["execution"].endswith(":run-1") and paced["shards"]["count"] == len(SHARDS)


def test_what_it_came_to_stays_out_of_the_state(engine: Engine) -> None:
    engine.transfer(shards=SHARDS, paced=True)
    engine.run()
    (summarised,) = engine.service.calls("SummariseTransfer")
    assert summarised["state"]["pace"] == {"copying": {}, "pacing": {}}
    assert summarised["state"]["run"]["id"] == "run-1"


def test_a_single_shard_is_not_paced(engine: Engine) -> None:
    engine.transfer(shards=("a",), paced=False)
    assert engine.run().status == "SUCCEEDED"
    assert engine.service.calls("PaceCopy") == []


@pytest.mark.parametrize("name", PASSING_ERRORS)
def test_it_is_called_again_after_an_error_that_passes(engine: Engine, name: str) -> None:
    fake = engine.transfer(shards=SHARDS, paced=True)
    engine.service.functions["PaceCopy"] = FailFirst(fake.pace_copy, PASSING_ERRORS[name])
    assert engine.run().status == "SUCCEEDED"
    assert len(ends_noted(engine)) >= 3
    assert engine.service.calls("SummariseTransfer")[0]["state"]["pace"] == {"copying": {}, "pacing": {}}


@pytest.mark.parametrize("error", [LedgerBroken("plan.json is missing"), AccessDenied("states:UpdateMapRun", "x", "y")])
def test_a_pacing_that_fails_is_told_and_fails_nothing(engine: Engine, error: Exception) -> None:
    fake = engine.transfer(shards=SHARDS, paced=True)
    engine.service.functions["PaceCopy"] = lambda event: (
        fake.pace_copy(event) if event["step"] == "EndPacing" else always(error)(event)
    )
    assert engine.run().status == "SUCCEEDED"
    told = engine.service.calls("SummariseTransfer")[0]["state"]["pace"]
    assert told["copying"] == {} and told["pacing"]["note"].startswith(type(error).__name__)


def test_an_end_that_can_not_be_noted_is_told_and_fails_nothing(engine: Engine) -> None:
    fake = engine.transfer(shards=SHARDS, paced=True)

    def pace_copy(event: Event) -> Event:
        if event["step"] == "EndPacing":
            fake.pace_copy(event)
            raise LedgerBroken("cannot be written")
        return fake.pace_copy(event)

    engine.service.functions["PaceCopy"] = pace_copy
    assert engine.run().status == "SUCCEEDED"
    told = engine.service.calls("SummariseTransfer")[0]["state"]["pace"]
    assert told["copying"]["note"].startswith("LedgerBroken") and told["pacing"] == {}


@pytest.mark.parametrize("paced", [True, False])
def test_a_map_that_fails_ends_the_pacing_and_fails_the_run(engine: Engine, paced: bool) -> None:
    """Its list of shards is not there."""
    fake = engine.transfer(shards=SHARDS, paced=paced)
    partition = fake.partition_shards
    engine.service.functions["PartitionShards"] = lambda event: {**partition(event), "copies": "runs/none.json"}
    result = engine.run()
    assert result.status == "FAILED"
    assert engine.entered()[-10:-6] == ["CopyInPace", "CopyBroke?", "KeepError", "FinishTree"]
    summarised = engine.service.calls("SummariseTransfer")[0]["state"]
    assert summarised["error"]["Error"].startswith("States.")
    assert engine.service.calls("CopyShard") == [] and engine.service.calls("BeginDeletion") == []
    assert ends_noted(engine).count(True) == int(paced)
