"""Values of a request that JSON text can name and no JSON can hold again."""

from __future__ import annotations

import json

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request

ENDS = '"source": "s3://a-bucket/in/", "destination": "efs:///out"'


@pytest.mark.parametrize("number", ["1e400", "-1e400", "Infinity", "NaN"])
@pytest.mark.parametrize(
    ("field", "document"),
    [
        ("limits.max_seconds", '"limits": {"max_seconds": NUMBER}'),
        ("limits.max_dollars", '"limits": {"max_dollars": NUMBER}'),
        ("limits.shard_seconds", '"limits": {"shard_seconds": NUMBER}'),
        ("prices.s3_put", '"prices": {"s3_put": NUMBER}'),
        ("min_size", '"min_size": NUMBER'),
        ("include.1", '"include": ["a", NUMBER]'),
        ("restore.days", '"restore": {"days": NUMBER}'),
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_the_name_of_its_field(
    field: str, document: str, number: str
) -> None:
    given = json.loads(f"{{{ENDS}, {document.replace('NUMBER', number)}}}")
    with pytest.raises(InvalidRequest, match=f"^{field}: -?(inf|nan) is not a finite number; give a number"):
        parse_request(given, ("data",), 10)


def test_half_of_a_character_is_refused_by_the_name_of_its_field() -> None:
    given = json.loads(f'{{{ENDS}, "include": ["\\ud800"]}}')
    with pytest.raises(InvalidRequest, match=r"^include\.0: '.ud800' is not Unicode text"):
        parse_request(given, ("data",), 10)
