"""The phases of a run, in the order in which the state machine carries them out."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.forecast.phases import NOTED, phases_of
from fanout.request.parse import parse_request

S3, DATA = "s3://a-bucket/tree/", "efs:///copy"


@pytest.mark.parametrize(
    ("fields", "phases"),
    [
        ({}, "plan list partition copy finish summarise"),
        ({"verify": "copied"}, "plan list partition copy finish verify summarise"),
        ({"archived": "restore"}, "plan list partition copy restore finish summarise"),
        ({"mode": "sync", "verify": "all"}, "plan list partition copy finish delete verify summarise"),
        ({"mode": "move"}, "plan list partition copy finish verify delete summarise"),
        ({"publish": {"link": "now"}, "verify": "all"}, "plan list partition copy finish verify publish summarise"),
        ({"mode": "verify", "verify": "all"}, "plan list partition verify summarise"),
        ({"mode": "plan", "verify": "all", "archived": "restore"}, "plan list partition summarise"),
        (
            {"mode": "rollback", "source": "efs:///copy/versions/run-1", "publish": {"link": "now"}},
            "plan publish summarise",
        ),
    ],
)
def test_the_phases_of_a_request(fields: dict[str, Any], phases: str) -> None:
    found = phases_of(parse_request({"source": S3, "destination": DATA, **fields}, ("data",), 10))
    assert " ".join(phase.name for phase in found) == phases
    assert {phase.name for phase in found if not phase.inside} <= {*NOTED}
