"""A chart's path: steps, and a gap where there is no value."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from fanout.report.charts.series import Series, series_of
from fanout.report.text import number


def drawn(*values: float | None) -> Series:
    return series_of("entries", "Entries", values, 600.0, number)


def test_values_are_steps_and_equal_ones_one_line() -> None:
    chart = drawn(1.0, 1.0, 2.0, 0.0)
    assert chart.line == "M0 50.0H500V0.0H750V100.0H1000"
    assert chart.area == f"{chart.line}V100H0Z"
    assert chart.text == "Entries: 1 on average, 2 at most, over 10 min 00 s."


def test_where_there_is_no_value_the_line_has_a_gap_and_the_area_too() -> None:
    chart = drawn(None, 2.0, None, None, 1.0)
    assert chart.line == "M200 0.0H400M800 50.0H1000"
    assert chart.area == "M200 0.0H400V100H200ZM800 50.0H1000V100H800Z"
    assert chart.text == "Entries: 1.50 on average, 2 at most, over 10 min 00 s, 6 min 00 s of it without a value."


def test_without_any_value_nothing_is_drawn() -> None:
    assert (drawn(None, None).line, drawn(None).area) == ("", "")


@given(st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=50))
def test_as_much_is_drawn_as_there_are_values(values: list[float | None]) -> None:
    pieces = re.findall(r"M([\d.]+) [^M]*H([\d.]+)(?=M|$)", drawn(*values).line)
    length = sum(float(end) - float(begin) for begin, end in pieces)
    known = sum(value is not None for value in values)
    assert abs(length - 1000 * known / len(values)) <= 0.1 * (len(pieces) + 1)
