"""A move deletes at the source after the comparison of both trees, and gives up its right to however it ends."""

from __future__ import annotations

import pytest

from fanout.model.errors import DeleteRefused, LedgerBroken, Superseded

from .engine import Engine
from .failing import always

MOVE = {"moves": True, "verify": "all"}


@pytest.mark.parametrize("two_mounts", [False, True])
def test_it_deletes_last_what_the_comparison_proved(engine: Engine, two_mounts: bool) -> None:
    engine.transfer(**MOVE, extras=("proven-1", "proven-2"), two_mounts=two_mounts, passes=2)
    assert engine.run().status == "SUCCEEDED"
    entered = engine.entered()
    order = ["FinishTree", "BeginVerification", "VerifyShards", "BeginDeletion", "DeleteShards", "RemoveDirectories"]
    places = [entered.index(state) for state in order]
    assert places == sorted(places)
    assert not engine.service.calls("LookAtSource")
    assert not engine.service.calls("LookAtDirectories")
    assert {call["shard"] for call in engine.service.calls("DeleteShard")} == {"proven-1", "proven-2"}
    assert all(call["run"]["prefix"].endswith("/verification/") for call in engine.service.calls("DeleteShard"))
    assert len(engine.service.calls("RemoveDirectories")) == 2


@pytest.mark.parametrize(
    ("task", "error"),
    [
        ("ListSegment", LedgerBroken("missing")),
        ("FinishTree", LedgerBroken("missing")),
        ("BeginVerification", LedgerBroken("missing")),
        ("BeginDeletion", DeleteRefused("too many")),
    ],
)
def test_a_run_that_breaks_off_gives_up_its_right_to_delete_once(engine: Engine, task: str, error: Exception) -> None:
    engine.transfer(**MOVE)
    engine.service.functions[task] = always(error)
    assert engine.run().status == "FAILED"
    (event,) = engine.service.calls("RemoveDirectories")
    assert event["state"]["error"]["Error"] == type(error).__name__
    assert not engine.service.calls("DeleteShard")
    assert len(engine.service.calls("SummariseTransfer")) == 1


def test_one_that_cannot_remove_directories_is_summarised_all_the_same(engine: Engine) -> None:
    engine.transfer(**MOVE)
    engine.service.functions["RemoveDirectories"] = always(Superseded("run-1"))
    assert engine.run().status == "FAILED"
    (event,) = engine.service.calls("SummariseTransfer")
    assert event["state"]["error"]["Error"] == "Superseded"
