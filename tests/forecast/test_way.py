"""Which runs are forecast to go the short way, and what that saves; tests/functions counts what they ask."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.document import Json
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state
from tests.support.flow import REQUEST

SYNC = {**REQUEST, "mode": "sync"}


def estimated(request: Json, entries: int = 0, **known: Any) -> Any:
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    return estimate(
        parse_request(request, ("data",), 100), EstimateFacts(entries, entries * 1000, states=states, **known)
    )


def test_one_file_takes_six_seconds_two_where_functions_are_warm_and_a_third_of_the_ordinary_dollars(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = estimated(REQUEST, 1)
    seconds = sum(short.seconds.values())
    assert short.way.is_short and seconds <= 6 and seconds - short.way.warm_seconds <= 2
    monkeypatch.setattr("fanout.forecast.way.may_go_short", lambda _: False)
    assert short.dollars.total <= estimated(REQUEST, 1).dollars.total / 3


@pytest.mark.parametrize(
    ("request_", "known"),
    [
        (SYNC, {"unchanged": 100_000}),
        (REQUEST, {"entries": 100_000}),
        ({**REQUEST, "mode": "move"}, {"entries": 1}),
        ({**REQUEST, "publish": {"link": "current"}}, {"entries": 1}),
    ],
    ids=["long to list", "many seconds of shards", "who proves deletes", "a version"],
)
def test_what_one_function_does_not_carry_is_forecast_the_ordinary_way(request_: Json, known: Any) -> None:
    found = estimated(request_, **known)
    assert not found.way.is_short and found.seconds["partition"] > 0
