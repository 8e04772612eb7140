"""Words of other tools name fields that there are."""

from __future__ import annotations

from fanout.request.checked import FOREIGN_WORDS, fields_of
from fanout.request.parse import Fields


def test_a_word_of_another_tool_is_no_field_and_means_one() -> None:
    fields = {field.path for field in fields_of(Fields)}
    assert {one for meant in FOREIGN_WORDS.values() for one in meant} <= fields
    assert not {field.rpartition(".")[2] for field in fields} & FOREIGN_WORDS.keys()
