"""The Map of a run, asked and moved, on a server that answers as it is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanout.adapters.aws.step_functions import StepFunctionsMaps
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, NotFound, Throttled, Transient
from fanout.ports.pacing import MapRun
from tests.contract.scripted_server import RESET, ScriptedServer, answer

EXECUTION = "arn:aws:states:eu-west-1:111122223333:execution:mine-transfer:run-1"
MAPS = "arn:aws:states:eu-west-1:111122223333:mapRun:mine-transfer"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


def maps(url: str) -> StepFunctionsMaps:
    return StepFunctionsMaps("eu-west-1", url, attempts=2)


def said(document: Any, status: int = 200) -> bytes:
    return answer(status, json.dumps(document).encode())


LISTED = said(
    {
        "mapRuns": [
            {"mapRunArn": f"{MAPS}/ListTree:1", "startDate": 100.0},
            {"mapRunArn": f"{MAPS}/CopyShards:2", "startDate": 200.0},
            {"mapRunArn": f"{MAPS}/CopyShards:3", "startDate": 300.0},
        ]
    }
)
COUNTS = {"total": 9, "pending": 4, "running": 3, "succeeded": 2}
DESCRIBED = said({"status": "RUNNING", "maxConcurrency": 3, "itemCounts": COUNTS})


def test_the_newest_map_of_the_label_is_found_once_and_asked_again(server: ScriptedServer) -> None:
    server.script = [LISTED, DESCRIBED, DESCRIBED]
    asked = maps(server.url)
    expected = MapRun(f"{MAPS}/CopyShards:3", "RUNNING", 3, 9, 4, 3)
    assert asked.find(EXECUTION, "CopyShards") == expected == asked.find(EXECUTION, "CopyShards")
    operations = [
        request.lower().split(b"x-amz-target: awsstepfunctions.")[1].split(b"\r")[0] for request in server.requests
    ]
    assert operations == [b"listmapruns", b"describemaprun", b"describemaprun"]
    assert not expected.ended and expected.share_left == pytest.approx(7 / 9)


def test_every_page_of_maps_is_read(server: ScriptedServer) -> None:
    early = {"mapRuns": [{"mapRunArn": f"{MAPS}/ListTree:1", "startDate": 100.0}], "nextToken": "more"}
    server.script = [said(early), LISTED, DESCRIBED]
    found = maps(server.url).find(EXECUTION, "CopyShards")
    assert found is not None and found.arn == f"{MAPS}/CopyShards:3"
    assert [json.loads(body).get("nextToken") for body in server.bodies] == [None, "more", None]


def test_a_map_that_has_not_begun_is_none(server: ScriptedServer) -> None:
    server.script = [said({"mapRuns": []})]
    assert maps(server.url).find(EXECUTION, "CopyShards") is None


def test_it_is_moved(server: ScriptedServer) -> None:
    server.script = [said({})]
    maps(server.url).move(f"{MAPS}/CopyShards:3", 7)
    assert b"awsstepfunctions.updatemaprun" in server.requests[0].lower()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (said({"__type": "ThrottlingException"}, 400), Throttled),
        (said({}, 429), Throttled),
        (said({"__type": "AccessDeniedException"}, 400), AccessDenied),
        (said({"__type": "ResourceNotFound"}, 400), NotFound),
        (said({"__type": "ExecutionDoesNotExist"}, 400), NotFound),
        (said({}, 503), Transient),
        (said({}, 400), InvalidRequest),
        (answer(200, b"<html>"), Transient),
        (RESET, Transient),
    ],
)
def test_every_answer_that_is_none_is_one_of_our_errors(
    server: ScriptedServer, given: bytes, error: type[FanoutError]
) -> None:
    server.script = [given] * 4
    with pytest.raises(error, match="ListMapRuns"):
        maps(server.url).find(EXECUTION, "CopyShards")
