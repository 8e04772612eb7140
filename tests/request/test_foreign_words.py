"""Words of other tools name fields that there are."""

from __future__ import annotations

import pytest

from fanout.request.fields.checked import fields_meant, fields_of
from fanout.request.parse import Fields


def test_a_word_of_another_tool_is_no_field() -> None:
    fields = list(fields_of(Fields))
    words = {word for field in fields for word in field.traits.words}
    assert not {field.path.rpartition(".")[2] for field in fields} & words


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--exclude-from", ("include", "exclude")),
        ("request_payer", ("source_bucket.requester_pays", "destination_bucket.requester_pays")),
        ("--Delete", ("mode",)),
        ("max-dollars", ("limits.max_dollars",)),
        ("rate", ("limits.bytes_per_second",)),
        ("nothing", ()),
    ],
)
def test_it_means_each_field_that_does_the_same(word: str, meant: tuple[str, ...]) -> None:
    assert fields_meant(word, fields_of(Fields)) == meant
