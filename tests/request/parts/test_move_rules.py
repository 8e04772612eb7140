"""What a move takes, and what it refuses by its field."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.options import Verify
from fanout.request.parse import parse_request
from fanout.request.request import Request

MOVE = {"source": "efs:///in", "destination": "s3://a-bucket/out/", "mode": "move"}


def parse(**fields: Any) -> Request:
    return parse_request({**MOVE, **fields}, ("data", "more"), 10)


def test_a_move_proves_all_unless_content_is_enough() -> None:
    assert parse().verify is Verify.ALL
    assert parse(verify="none").verify is Verify.ALL
    assert parse(verify="content").verify is Verify.CONTENT
    assert parse(mode="copy").verify is Verify.NONE


@pytest.mark.parametrize(
    ("fields", "field", "allowed"),
    [
        ({"verify": "copied"}, "verify", "all, or content"),
        ({"overwrite": "never"}, "overwrite", "always"),
        ({"overwrite": "if-newer"}, "overwrite", "always"),
        ({"symlinks": "follow"}, "symlinks", "keep, or skip"),
        ({"destination": "efs:///out", "publish": {"link": "current"}}, "publish", "leave it out"),
        ({"certificate": True}, "certificate", "leave it out"),
        ({"delete_guard": {"max_percent": 50}}, "delete_guard.max_percent", "max_count"),
        ({"destination": "efs:///in/deeper"}, "destination", "shares no entry"),
    ],
)
def test_what_it_refuses(fields: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**fields)
    assert caught.value.field == field
    assert allowed in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"delete_guard": {"max_count": 0}},
        {"manifest": "s3://a-bucket/list.csv"},
        {"exclude": ["*.tmp"], "older_than": "30d"},
        {"source": "s3://b-bucket/in/", "archived": "skip"},
        {"destination": "efs://more/out", "backup_to": "efs://more/kept"},
        {"on_conflict": "escape", "source": "s3://b-bucket/in/", "destination": "efs:///out"},
    ],
)
def test_what_it_takes(fields: dict[str, Any]) -> None:
    parse(**fields)
