"""A closed window: the state machine waits as long as a task says, runs nothing meanwhile, and goes on where it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from .definition import load, states
from .engine import Engine
from .fake_functions import FakeTransfer
from .lambda_service import Event

SECONDS = 3.0
# The engine waits whole seconds, rounded down.
EARLY_SECONDS = 1.0
# Those that no window has to do with.
OTHERS = ("WaitForArchive", "WaitForShortWay", "WaitForChecksums")
WAITS = [state for state in states(load()) if state.body["Type"] == "Wait" and state.name not in OTHERS]
PAUSED: dict[str, Event] = {
    "CopyShard": {"done": False},
    "UnpackShard": {"done": False, "next": "unpack"},
    "FinishTree": {"done": False, "count": 0, "key": "", "max_concurrency": 1},
    "FinishShard": {"done": False},
    "DeleteShard": {"done": False},
    "LookAtDirectories": {"done": False},
    "RemoveDirectories": {"done": False},
    "DigestShard": {"done": False},
    "DigestDestination": {"cursor": 0, "done": False},
    "VerifyShard": {"done": False},
    "PaceCopy": {"done": False},
}


class Closed:
    """Hands the first call of each event back, until the window opens in some seconds."""

    def __init__(self, function: Callable[[Event], Any], answer: Event, now: Callable[[], float]) -> None:
        self._function, self._answer, self._now = function, answer, now
        self.called: list[float] = []
        self.opens = 0.0

    def __call__(self, event: Event) -> Any:
        if event["step"] == "EndPacing":
            return self._function(event)
        self.called.append(self._now())
        if len(self.called) > 1:
            return self._function(event)
        self.opens = float(int(self._now() + SECONDS))
        given: Event = {name: event[name] for name in ("run", "shard", "cursor", "shards") if name in event}
        if "state" in event:
            given["round"] = event["state"].get("finish", {}).get("round", -1)
        return {**given, **self._answer, "until": f"{datetime.fromtimestamp(self.opens, UTC):%Y-%m-%dT%H:%M:%SZ}"}


def close(engine: Engine, name: str) -> Closed:
    closed = Closed(engine.service.functions[name], PAUSED[name], engine.now)
    engine.service.functions[name] = closed
    return closed


def options_of(name: str) -> dict[str, Any]:
    apart = name in ("UnpackShard", "LookAtDirectories", "DigestShard", "DigestDestination")
    found: dict[str, Any] = {"shards": ("a",), "verify": "copied", "extras": ("x",), "two_mounts": apart}
    found["digests"] = name == "DigestDestination"
    return found | {"finishing": (("f",),) if name == "FinishShard" else (), "paced": name == "PaceCopy"}


@pytest.mark.parametrize("name", PAUSED)
def test_a_task_that_is_paused_is_called_again_when_the_window_opens(engine: Engine, name: str) -> None:
    engine.transfer(**options_of(name))
    closed = close(engine, name)
    result = engine.run()
    assert result.status == "SUCCEEDED", result
    first, second, *_ = closed.called
    assert first < closed.opens <= second + EARLY_SECONDS
    calls = [call for call in engine.service.called() if call == name]
    assert len(calls) >= 2


def test_a_listing_that_is_paused_waits_between_its_rounds(engine: Engine) -> None:
    fake: FakeTransfer = engine.transfer(rounds=(("0",), ("1", "2")))
    gather = fake.gather_segments
    moments: list[float] = []

    def gathered(event: Event) -> Event:
        found = gather(event)
        if not moments:
            moments.append(float(int(engine.now() + SECONDS)))
            return {**found, "until": f"{datetime.fromtimestamp(moments[0], UTC):%Y-%m-%dT%H:%M:%SZ}"}
        moments.append(engine.now())
        return found

    engine.service.functions["GatherSegments"] = gathered
    assert engine.run().status == "SUCCEEDED"
    assert engine.entered().count("WaitToList") == 1
    assert moments[0] <= moments[1] + EARLY_SECONDS
    assert Counter(engine.service.called())["ListSegment"] == 3


def test_a_listing_that_has_ended_waits_for_nothing(engine: Engine) -> None:
    fake = engine.transfer(rounds=(("0",),))
    gather = fake.gather_segments
    engine.service.functions["GatherSegments"] = lambda event: {**gather(event), "until": "2999-01-01T00:00:00Z"}
    assert engine.run().status == "SUCCEEDED"
    assert "WaitToList" not in engine.entered()


def test_every_wait_is_until_a_moment_that_a_task_named() -> None:
    assert {state.name for state in WAITS} == {
        *("WaitToList", "WaitToCopy", "WaitToPace", "WaitToFinish", "WaitToFinishShard", "WaitToDelete"),
        *("WaitToLook", "WaitToRemove", "WaitToVerify", "WaitToPublish"),
    }
    for state in WAITS:
        assert state.body["TimestampPath"].endswith(".until") and "Seconds" not in state.body
