"""How far the Map of a run is: what is asked, how often, and what is made of the answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from fanout_cli.progress.map_runs import ASK_SECONDS, ASK_SECONDS_MAX, MapCounts, NewestMap

ARN = "arn:aws:states:eu-west-1:123456789012:mapRun:mine-transfer/{label}:uuid"


class StepFunctions:
    """Answers as the service does, and notes when it was asked."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[float] = []
        self.maps = ["ListTree", "CopyShards"]
        self.throttled = False

    def list_map_runs(self, **_: Any) -> Any:
        when = [datetime(2026, 1, 1 + number, tzinfo=UTC) for number in range(len(self.maps))]
        arns = [ARN.format(label=label) for label in self.maps]
        return {"mapRuns": [{"mapRunArn": arn, "startDate": one} for arn, one in zip(arns, when, strict=True)]}

    def describe_map_run(self, **_: Any) -> Any:
        self.asked.append(self.now)
        if self.throttled:
            raise ClientError({"Error": {"Code": "ThrottlingException"}}, "DescribeMapRun")
        counts = {"total": 9, "succeeded": 4, "failed": 1, "timedOut": 1, "aborted": 0, "running": 2, "pending": 1}
        return {"itemCounts": counts}


def test_the_newest_map_is_described_at_most_every_5_seconds() -> None:
    service = StepFunctions()
    maps = NewestMap(service, "arn", lambda: service.now)
    for tenth in range(600):
        service.now = tenth / 10
        assert maps.look() == MapCounts("CopyShards", total=9, done=6, failed=2, running=2)
    assert len(service.asked) == 12
    assert min(b - a for a, b in zip(service.asked, service.asked[1:], strict=False)) >= ASK_SECONDS


def test_when_the_service_throttles_it_is_asked_less_and_less() -> None:
    service = StepFunctions()
    service.throttled = True
    maps = NewestMap(service, "arn", lambda: service.now)
    for second in range(400):
        service.now = float(second)
        assert maps.look() is None
    pauses = [b - a for a, b in zip(service.asked, service.asked[1:], strict=False)]
    assert pauses[:4] == [10.0, 20.0, 40.0, 60.0]
    assert set(pauses[4:]) == {ASK_SECONDS_MAX}
    service.throttled, service.now = False, 1_000.0
    assert maps.look() is not None
    service.now += ASK_SECONDS
    maps.look()
    assert service.asked[-1] == service.now


def test_before_the_first_map_there_is_nothing_to_describe() -> None:
    service = StepFunctions()
    service.maps = []
    assert NewestMap(service, "arn", lambda: service.now).look() is None
    assert not service.asked
