"""A required field that is missing is named with its own meaning."""

from __future__ import annotations

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.fields.checked import checked, fields_of
from fanout.request.parse import Fields

REQUIRED = {field.path: field.meaning for field in fields_of(Fields) if field.default == "required"}
GIVEN = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}


@pytest.mark.parametrize("name", GIVEN)
def test_it_is_named_with_its_meaning(name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked({field: value for field, value in GIVEN.items() if field != name}, Fields)
    assert (caught.value.field, caught.value.problem) == (name, "is missing")
    assert caught.value.allowed == REQUIRED[name]


def test_each_has_a_meaning_of_its_own() -> None:
    assert REQUIRED.keys() >= GIVEN.keys() and len(set(REQUIRED.values())) == len(REQUIRED)
