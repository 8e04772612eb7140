"""Numbers and names as the report shows them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.report import text
from fanout.report.charts.axes import time_ticks, value_ticks


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (0.0204, "20 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert text.duration(seconds) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536, "1.50 KiB"),
        (12.34 * 2**20, "12.3 MiB"),
        (2**70, "1,024 EiB"),
    ],
)
def test_sizes(size: float, shown: str) -> None:
    assert text.size(size) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [("ü 語 نص", "ü 語 نص"), ("a\nb\x7f", "a\\nb\\x7f"), ("\udcff", "\\xff"), ("\u202e\u200d", "\\u202e\\u200d")],
)
def test_what_can_not_be_seen_is_escaped(name: str, shown: str) -> None:
    assert text.visible(name) == shown


@given(st.text(alphabet=st.characters(codec=None), max_size=2000))
def test_any_name_becomes_short_printable_text(name: str) -> None:
    shown = text.clip(name)
    assert shown.isprintable()
    assert len(shown) <= 300
    shown.encode()


@given(st.floats(1e-6, 1e15), st.booleans())
def test_a_value_axis_holds_its_top_with_few_round_ticks(top: float, in_bytes: bool) -> None:
    end, ticks = value_ticks(top, in_bytes=in_bytes)
    assert top <= end * (1 + 1e-9)
    assert 1 <= len(ticks) <= 4
    assert ticks[-1].at == pytest.approx(100)
    assert len({tick.label for tick in ticks}) == len(ticks)


@given(st.floats(0.001, 1e8))
def test_a_time_axis_begins_at_0_and_has_few_ticks(seconds: float) -> None:
    ticks = time_ticks(seconds)
    assert ticks[0].label == "0"
    assert len(ticks) <= 6
    assert all(before.at < after.at for before, after in pairwise(ticks))
