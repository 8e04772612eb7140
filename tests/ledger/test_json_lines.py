"""Rows as lines of JSON."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.json_lines import lines_of, rows_of

# Any bytes but a slash, as names are read from a file system: what is no UTF-8 is lone surrogates.
NAMES = st.binary(min_size=1, max_size=12).map(os.fsdecode)
ROWS = st.lists(st.lists(NAMES | st.integers(-(2**127), 2**127) | st.booleans() | st.none(), max_size=4), max_size=6)


def data_of(rows: list[Any]) -> bytes:
    return b"".join(lines_of(rows))


@given(rows=ROWS)
def test_rows_come_back_as_they_were_and_each_is_a_line_of_json(rows: list[Any]) -> None:
    data = data_of(rows)
    assert list(rows_of(data)) == rows
    assert [json.loads(line) for line in data.split(b"\n") if line] == rows
    assert data.count(b"\n") == len(rows)


@given(rows=ROWS)
def test_what_the_standard_library_wrote_is_read(rows: list[Any]) -> None:
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    assert list(rows_of(data)) == rows


@pytest.mark.parametrize("odd", [2**70, -(2**64), "\udcff", "a\nb", "a\rb", "\u2028", "\x85", '"', "\\", "\x00"])
def test_thousands_of_rows_with_an_odd_name_among_them(odd: str | int) -> None:
    rows: list[Any] = [{"path": f"file-{number}", "size": number} for number in range(2_500)]
    rows[1_700]["path"] = odd
    assert list(rows_of(data_of(rows))) == rows


def test_a_line_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError):
        list(rows_of(b'{"path":"a"}\n{"path":'))
