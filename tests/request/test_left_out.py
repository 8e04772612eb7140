"""Which reasons a request skips: asked once, and so the same in every phase."""

from __future__ import annotations

import pytest

from fanout.model.document import Json
from fanout.model.outcome import Reason
from fanout.request.parse import parse_request

REQUEST: Json = {"source": "s3://a-bucket/", "destination": "efs:///b"}
NAMES = {one for one in Reason if one.is_name}


@pytest.mark.parametrize(
    ("more", "left_out", "unseen"),
    [
        ({}, set(), set()),
        ({"archived": "restore"}, set(), set()),
        ({"archived": "skip"}, {Reason.SOURCE_ARCHIVED}, {Reason.SOURCE_ARCHIVED}),
        ({"on_conflict": "skip"}, NAMES, set()),
        ({"vanished": "skip"}, {Reason.SOURCE_VANISHED}, set()),
        ({"on_conflict": "skip", "archived": "skip"}, NAMES | {Reason.SOURCE_ARCHIVED}, {Reason.SOURCE_ARCHIVED}),
    ],
)
def test_the_reasons_that_a_request_skips(more: Json, left_out: set[Reason], unseen: set[Reason]) -> None:
    request = parse_request({**REQUEST, **more}, ("data",), 10)
    assert (set(request.left_out), set(request.left_out_unseen)) == (left_out, unseen)
