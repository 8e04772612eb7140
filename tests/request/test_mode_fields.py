"""Which mode takes which field: the table, held against the fields and against what a request is refused for."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.course import Mode
from fanout.request.fields.checked import fields_of
from fanout.request.mode_fields import NOT_TAKEN, modes_taking, refused, why_not
from fanout.request.parse import Fields, parse_request

VALUES: dict[str, Any] = {
    "publish": {"publish": {"link": "current"}},
    "certificate": {"certificate": True},
    "delete_guard.max_percent": {"delete_guard": {"max_percent": 5}},
    "manifest": {"manifest": "s3://lists/a.jsonl"},
}
REFUSED = [(mode, field) for mode in Mode for row in refused(mode) for field in row.fields]


def test_every_row_names_fields_that_there_are() -> None:
    known = {field.path for field in fields_of(Fields)} | {field.path.partition(".")[0] for field in fields_of(Fields)}
    assert {field for row in NOT_TAKEN for field in row.fields} <= known


@pytest.mark.parametrize(("mode", "field"), REFUSED)
def test_a_refused_field_is_refused_with_the_reason_of_its_row(mode: Mode, field: str) -> None:
    document = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "mode": mode.value, **VALUES[field]}
    with pytest.raises(InvalidRequest) as refusal:
        parse_request(document, ("data",), 100)
    assert (refusal.value.field, refusal.value.problem) == (field, why_not(mode, field))


def test_an_idle_field_may_stand_in_a_document_that_is_started_again_with_another_mode() -> None:
    document = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "delete_guard": {"max_count": 5}}
    for mode in ("sync", "copy", "verify", "plan"):
        assert parse_request({**document, "mode": mode}, ("data",), 100).delete_guard.max_count == 5


def test_the_modes_that_take_a_field() -> None:
    assert modes_taking("delete_guard.max_count") == (Mode.SYNC, Mode.MOVE, Mode.PLAN, Mode.ROLLBACK)
    assert Mode.SYNC not in modes_taking("publish.keep")
    assert not why_not(Mode.COPY, "exclude")
