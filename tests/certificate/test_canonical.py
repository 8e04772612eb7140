"""The canonical form: one value has one form, that of RFC 8785, and every other byte is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.certificate.document import canonical, read_canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii")), inner),
)


def test_strings_and_names_stand_as_rfc_8785_writes_them() -> None:
    value = {"b": [1, True, None], "a": '€$\u000f\nA\'B"\\\\"/\x7f', "": {}}
    assert canonical(value) == '{"":{},"a":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f","b":[1,true,null]}'.encode()


@given(VALUES)
def test_a_value_is_read_back_from_its_one_form(value: object) -> None:
    assert read_canonical(canonical(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}',
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a":1}\n',
        b'{"a":"\\u0041"}',
        b'{"a":1.0}',
        b"[1",
        b"",
        b"NaN",
    ],
)
def test_every_other_form_of_a_value_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_canonical(data)


@pytest.mark.parametrize("value", [1.5, 2**53, {"ü": 1}, {1: 1}, (1,), "\udc80"])
def test_what_has_no_plain_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        canonical(value)
