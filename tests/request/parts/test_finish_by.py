"""``limits.finish_by``: the moment that its text means, also where clocks change, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.request.parts.finish_by import finish_at, length_text, local_time, parse_finish_by

ZONES = ("Europe/Berlin", "America/New_York", "UTC", "Asia/Kathmandu", "Australia/Lord_Howe")
BEGIN, END = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2025, 2029))
DAY = 86_400


def at(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=fold).timestamp()


@pytest.mark.parametrize(
    ("text", "began", "moment"),
    [
        ("06:00 Europe/Berlin", at("2026-01-31T05:59"), at("2026-01-31T06:00")),
        ("06:00 Europe/Berlin", at("2026-01-31T06:00"), at("2026-02-01T06:00")),
        ("06:00 Europe/Berlin", at("2026-01-31T22:00"), at("2026-02-01T06:00")),
        ("6:00 Europe/Berlin", at("2026-01-31T22:00"), at("2026-02-01T06:00")),
        ("05:00 UTC", at("2026-01-31T05:59"), at("2026-01-31T06:00")),
        # The night of 23 hours and that of 25.
        ("06:00 Europe/Berlin", at("2026-03-28T22:00"), at("2026-03-28T22:00") + 7 * 3600),
        ("06:00 Europe/Berlin", at("2026-10-24T22:00"), at("2026-10-24T22:00") + 9 * 3600),
        # Shown twice: the first one, or the second one where the run begins between them.
        ("02:30 Europe/Berlin", at("2026-10-24T22:00"), at("2026-10-25T02:30")),
        ("02:30 Europe/Berlin", at("2026-10-25T02:45"), at("2026-10-25T02:30", fold=1)),
        # Left out: half an hour before the clock goes from 02:00 to 03:00.
        ("02:30 Europe/Berlin", at("2026-03-28T22:00"), at("2026-03-29T03:00") - 1800),
        ("4h", 1000.0, 1000.0 + 4 * 3600),
        ("1h30m", 1000.0, 1000.0 + 5400),
        ("2d", 1000.0, 1000.0 + 2 * DAY),
        ("90s", 1000.0, 1090.0),
        ("2026-01-31T06:00:00+01:00", at("2026-01-01T00:00"), at("2026-01-31T06:00")),
        ("2026-01-31T05:00:00Z", at("2026-01-01T00:00"), at("2026-01-31T06:00")),
    ],
)
def test_a_text_means_a_moment(text: str, began: float, moment: float) -> None:
    assert finish_at(text, began) == moment


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("06:00", "'06:00' has no zone; for example \"06:00 Europe/Berlin\""),
        ("25:00 UTC", "'25:00 UTC' is not a time of day"),
        ("06:60 UTC", "'06:60 UTC' is not a time of day"),
        ("06:00 Nowhere/Else", "'Nowhere/Else' is not a known time zone"),
        ("soon", "'soon' says no time"),
        ("4", "'4' says no time"),
        ("4 h", "'4 h' says no time"),
        ("0h", "'0h' is not from a minute to 366 days"),
        ("59s", "'59s' is not from"),
        ("999d", "'999d' is not from"),
        ("2026-01-31T06:00:00", "says no time"),
        ("2026-01-31", "says no time"),
    ],
)
def test_what_says_no_moment_is_refused_with_what_was_typed(text: str, problem: str) -> None:
    document = {"source": "s3://a-bucket/x/", "destination": "efs:///y", "limits": {"finish_by": text}}
    with pytest.raises(InvalidRequest) as refused:
        parse_request(document, ("data",), 10)
    assert refused.value.field == "limits.finish_by" and problem in str(refused.value)


def test_a_moment_that_has_passed_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"'2026-01-31T05:00:00Z' had passed when the run began, at 2026-01-31T06"):
        finish_at("2026-01-31T05:00:00Z", datetime(2026, 1, 31, 6, tzinfo=UTC).timestamp())


@given(st.sampled_from(ZONES), st.integers(0, 1439), st.integers(BEGIN, END))
def test_a_time_of_day_comes_within_a_day_and_a_change_of_clocks(zone: str, minute: int, began: int) -> None:
    found = parse_finish_by(f"{minute // 60:02d}:{minute % 60:02d} {zone}").at(began)
    assert began < found <= began + DAY + 3600


@given(
    st.sampled_from(["06:00 Europe/Berlin", "23:59 America/New_York", "4h", "2026-01-31T06:00:00Z"]),
    st.integers(BEGIN, END),
    st.integers(60, 20 * DAY),
)
def test_what_is_said_of_a_moment_is_that_moment_or_little_more(text: str, began: int, later: int) -> None:
    said = parse_finish_by(text).said_as(began + later, began)
    assert began + later <= finish_at(said, began) <= began + later + 60


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m"), (61, "2m"), (3600, "1h"), (5400, "1h30m"), (100 * 3600, "100h"), (0, "1m")]
)
def test_a_length_is_rounded_up_to_a_minute(seconds: float, text: str) -> None:
    assert length_text(seconds) == text


def test_a_time_without_a_zone_is_that_of_this_machine() -> None:
    now = datetime(2026, 1, 31, 22, 0).timestamp()
    assert finish_at(local_time("06:00", now), now) == datetime(2026, 2, 1, 6, 0).timestamp()
    assert local_time("06:00 UTC", now) == "06:00 UTC" and local_time("4h", now) == "4h"
    assert local_time("27:00", now) == "27:00"
