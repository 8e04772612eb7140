"""``limits.window``: what its text means, and when it opens and closes, also where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.model.errors import InvalidRequest
from fanout.request.parse import parse_request
from fanout.request.parts.window import LEAST_MINUTES, Window, opens_again, parse_window

ZONES = ("Europe/Berlin", "America/New_York", "UTC", "Asia/Kathmandu", "Australia/Lord_Howe")
BEGIN, END = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2025, 2029))
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def at(text: str, zone: str = "Europe/Berlin", fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


@st.composite
def windows(draw: st.DrawFn) -> Window:
    begins = draw(st.integers(0, 1439))
    length = draw(st.integers(LEAST_MINUTES, 1439))
    days = draw(st.sets(st.integers(0, 6), min_size=1))
    return Window(begins, (begins + length) % 1440 or 1440, draw(st.sampled_from(ZONES)), tuple(sorted(days)))


@given(windows(), st.integers(BEGIN, END))
def test_a_window_is_otherwise_after_its_next_change_and_the_same_until_then(window: Window, now: int) -> None:
    changes = window.changes_at(now)
    assert now < changes <= now + 9 * 86_400
    assert window.is_open(changes) is not window.is_open(now)
    assert window.is_open(changes - 1) is window.is_open(now)


@given(windows(), st.integers(BEGIN, END), st.floats(0, 1))
def test_between_a_moment_and_the_next_change_nothing_changes(window: Window, now: int, share: float) -> None:
    between = now + share * (window.changes_at(now) - 1 - now)
    assert window.is_open(between) is window.is_open(now)
    assert window.changes_at(between) == window.changes_at(now)


@given(windows(), st.integers(BEGIN, END))
def test_it_is_open_when_the_clock_on_the_wall_says_so(window: Window, now: int) -> None:
    here = datetime.fromtimestamp(now, ZoneInfo(window.zone))
    minute = here.hour * 60 + here.minute
    began_today = window.begins <= minute and (minute < window.ends or window.ends <= window.begins)
    began_yesterday = window.ends <= window.begins and minute < window.ends
    expected = (began_today and here.weekday() in window.days) or (
        began_yesterday and (here.weekday() - 1) % 7 in window.days
    )
    assert window.is_open(now) is expected


@given(windows())
def test_its_text_is_read_back(window: Window) -> None:
    times = "-".join(f"{one // 60:02d}:{one % 60:02d}" for one in (window.begins, window.ends))
    days = ",".join(DAYS[day] for day in window.days)
    assert parse_window(f"{days} {times} {window.zone}") == window


@pytest.mark.parametrize(
    ("now", "opens", "closes"),
    [
        ("2026-11-23T21:59:59", "2026-11-23T22:00", "2026-11-24T06:00"),
        ("2026-11-24T06:00:00", "2026-11-24T22:00", "2026-11-25T06:00"),
        ("2027-03-27T12:00:00", "2027-03-27T22:00", "2027-03-28T06:00"),
        ("2027-10-30T12:00:00", "2027-10-30T22:00", "2027-10-31T06:00"),
    ],
)
def test_a_window_over_midnight(now: str, opens: str, closes: str) -> None:
    window = parse_window("22:00-06:00 Europe/Berlin")
    assert not window.is_open(at(now))
    assert window.changes_at(at(now)) == at(opens)
    assert window.changes_at(at(opens)) == at(closes)


def test_a_night_is_as_long_as_the_clock_makes_it() -> None:
    window = parse_window("22:00-06:00 Europe/Berlin")
    hours = [(window.changes_at(at(day)) - at(day)) / 3600 for day in ("2027-03-27T22:00", "2027-10-30T22:00")]
    assert hours == [7, 9]


def test_an_hour_that_is_left_out_is_missing_in_the_window() -> None:
    window = parse_window("02:30-03:30 Europe/Berlin")
    opens = window.changes_at(at("2027-03-28T00:00"))
    assert opens == at("2027-03-28T03:00")
    assert window.changes_at(opens) == at("2027-03-28T03:30")
    left_out = parse_window("02:00-03:00 America/New_York")
    zone = "America/New_York"
    assert left_out.changes_at(at("2027-03-14T00:00", zone)) == at("2027-03-15T02:00", zone)


@pytest.mark.parametrize(
    ("text", "zone", "now", "opens"),
    [
        ("Sun 02:00-03:00 America/New_York", "America/New_York", "2027-03-07T03:00", "2027-03-21T02:00"),
        ("Sun 01:00-02:00 Europe/Dublin", "Europe/Dublin", "2027-03-21T02:00", "2027-04-04T01:00"),
        ("Sun 00:00-00:45 America/Havana", "America/Havana", "2026-03-01T16:00", "2026-03-15T00:00"),
    ],
)
def test_a_weekly_window_that_a_clock_leaves_out_opens_a_week_later(text: str, zone: str, now: str, opens: str) -> None:
    assert parse_window(text).changes_at(at(now, zone)) == at(opens, zone)


def test_an_hour_that_comes_twice_is_in_the_window_twice() -> None:
    window = parse_window("02:00-02:30 Europe/Berlin")
    edges = [at("2027-10-31T00:00")]
    for _ in range(4):
        edges.append(window.changes_at(edges[-1]))
    assert edges[1:] == [at(f"2027-10-31T02:{minute}", fold=fold) for fold in (0, 1) for minute in ("00", "30")]


def test_days_are_those_on_which_it_opens() -> None:
    window = parse_window("Mon-Fri 22:00-06:00 Europe/Berlin")
    assert window.days == (0, 1, 2, 3, 4)
    assert window.is_open(at("2026-11-28T05:00")), "Friday's night"
    assert not window.is_open(at("2026-11-28T23:00")), "Saturday"
    assert not window.is_open(at("2026-11-30T05:00")), "Sunday's night"
    assert window.changes_at(at("2026-11-28T06:00")) == at("2026-11-30T22:00")
    assert parse_window("Sat,Sun 00:00-24:00 UTC").changes_at(at("2026-11-28T00:00", "UTC")) == at("2026-11-30", "UTC")
    assert parse_window("Fri-Mon 22:00-06:00 UTC").days == (0, 4, 5, 6)


def test_people_read_when_it_opens() -> None:
    assert opens_again("22:00-06:00 Europe/Berlin", at("2026-11-24T07:00")) == "22:00 Europe/Berlin"
    assert opens_again("Mon-Fri 22:00-06:00 Europe/Berlin", at("2026-11-28T07:00")) == "Mon 22:00 Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("22:00-06:00", "'22:00-06:00' is not a window; for example"),
        ("22-6 Europe/Berlin", "is not a window"),
        ("22:00-06:00  Europe/Berlin", "is not a window"),
        ("22:00-06:00 ../../etc/passwd", "is not a window"),
        ("22:00-06:00 Europe/Berlin\n", "is not a window"),
        ("24:00-06:00 UTC", "begins at 24:00"),
        ("25:00-06:00 UTC", "25:00 is not a time of day"),
        ("22:60-06:00 UTC", "22:60 is not a time of day"),
        ("22:00-24:01 UTC", "24:01 is not a time of day"),
        ("22:00-22:00 UTC", "begins and ends at 22:00"),
        ("22:00-22:29 UTC", "is open for 29 minutes; at least 30 minutes"),
        ("00:00-24:00 UTC", "is never closed; leave it out"),
        ("Mon-Sun 00:00-24:00 UTC", "is never closed; leave it out"),
        ("Mon-Fry 22:00-06:00 UTC", "'Fry' is not a day"),
        ("mon 22:00-06:00 UTC", "'mon' is not a day"),
        ("Mon,, 22:00-06:00 UTC", "'' is not a day"),
        ("22:00-06:00 Europe/Berlim", "'Europe/Berlim' is not a known time zone; a name such as"),
        ("22:00-06:00 Europe", "'Europe' is not a known time zone"),
        ("22:00-06:00 /etc/passwd", "is not a window|is not a known time zone"),
    ],
)
def test_bad_windows_are_refused_by_field(text: str, problem: str) -> None:
    request = {"source": "s3://bucket/a/", "destination": "efs:///b", "limits": {"window": text}}
    with pytest.raises(InvalidRequest, match=rf"limits\.window: .*({problem})"):
        parse_request(request, ("data",), 10)


def test_between_two_mounts_it_opens_on_every_day() -> None:
    request = {"source": "efs://one/a", "destination": "efs://two/b"}
    daily = parse_request({**request, "limits": {"window": "22:00-06:00 UTC"}}, ("one", "two"), 10)
    assert daily.limits.window == "22:00-06:00 UTC"
    with pytest.raises(InvalidRequest, match=r"limits\.window: between two mounts, .* two days; a window that opens"):
        parse_request({**request, "limits": {"window": "Mon-Fri 22:00-06:00 UTC"}}, ("one", "two"), 10)
