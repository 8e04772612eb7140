"""The times that an expression names, as literal rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fanout.model.errors import InvalidRequest
from fanout_cli.schedules.times import known_times, times_of

# A Monday.
NOW = datetime(2026, 11, 23, 12, 0, 30, tzinfo=UTC)
CREATED = datetime(2026, 11, 22, 7, 30, tzinfo=UTC)


def times(expression: str, zone: str = "UTC", now: datetime = NOW, count: int = 3) -> list[str]:
    found = known_times(expression, zone).upcoming(now, CREATED, count)
    return [one.isoformat(timespec="minutes") for one in found]


@pytest.mark.parametrize(
    ("expression", "first", "second"),
    [
        ("cron(0 3 * * ? *)", "2026-11-24T03:00", "2026-11-25T03:00"),
        ("cron(0/15 * * * ? *)", "2026-11-23T12:15", "2026-11-23T12:30"),
        ("cron(5,35 14 * * ? *)", "2026-11-23T14:05", "2026-11-23T14:35"),
        ("cron(0 10 ? * MON-FRI *)", "2026-11-24T10:00", "2026-11-25T10:00"),
        ("cron(0 10 ? * 2 *)", "2026-11-30T10:00", "2026-12-07T10:00"),
        ("cron(0 10 ? * SUN,7 *)", "2026-11-28T10:00", "2026-11-29T10:00"),
        ("cron(0 10 ? * 6L *)", "2026-11-27T10:00", "2026-12-25T10:00"),
        ("cron(0 10 ? * MON#1 *)", "2026-12-07T10:00", "2027-01-04T10:00"),
        ("cron(0 10 ? * 2#5 *)", "2026-11-30T10:00", "2027-03-29T10:00"),
        ("cron(0 10 L * ? *)", "2026-11-30T10:00", "2026-12-31T10:00"),
        ("cron(0 10 ? * L *)", "2026-11-28T10:00", "2026-12-05T10:00"),
        ("cron(0 10 31 * ? *)", "2026-12-31T10:00", "2027-01-31T10:00"),
        ("cron(0 10 31W * ? *)", "2026-12-31T10:00", "2027-01-29T10:00"),
        ("cron(0 10 1 1 ? 2027/2)", "2027-01-01T10:00", "2029-01-01T10:00"),
        ("cron(0 22-2 * * ? *)", "2026-11-23T22:00", "2026-11-23T23:00"),
        ("cron(0 10 ? * FRI-MON *)", "2026-11-27T10:00", "2026-11-28T10:00"),
        ("cron(0 10 ? NOV-DEC 2-6/2 2028)", "2028-11-01T10:00", "2028-11-03T10:00"),
        ("cron(30-30 13-13 ? * 02-2/1 *)", "2026-11-23T13:30", "2026-11-30T13:30"),
        ("cron(0 10 1,L * ? *)", "2026-11-30T10:00", "2026-12-01T10:00"),
        ("cron(0 10 1W * ? *)", "2026-12-01T10:00", "2027-01-01T10:00"),
        ("cron(0 10 15W * ? *)", "2026-12-15T10:00", "2027-01-15T10:00"),
        ("cron(0 10 1W 5 ? *)", "2027-05-03T10:00", "2028-05-01T10:00"),
        ("cron(0 10 LW 2 ? *)", "2027-02-26T10:00", "2028-02-29T10:00"),
        ("cron(0 0 29 FEB ? *)", "2028-02-29T00:00", "2032-02-29T00:00"),
        ("cron(0 0 1 1/3 ? 2030-2031)", "2030-01-01T00:00", "2030-04-01T00:00"),
        ("rate(1 day)", "2026-11-24T07:30", "2026-11-25T07:30"),
        ("rate(90 minutes)", "2026-11-23T12:00", "2026-11-23T13:30"),
    ],
)
def test_the_next_times_of_an_expression(expression: str, first: str, second: str) -> None:
    now = NOW if "90" not in expression else NOW - timedelta(minutes=1)
    assert times(expression, now=now, count=2) == [f"{first}+00:00", f"{second}+00:00"]


def test_an_at_has_one_time_and_none_when_it_has_passed() -> None:
    assert times("at(2026-11-23T13:30:00)", "Europe/Berlin") == ["2026-11-23T13:30+01:00"]
    assert times("at(2026-11-23T13:00:00)", "Europe/Berlin") == []


def test_a_time_that_summer_time_leaves_out_is_skipped_and_one_that_comes_twice_runs_once() -> None:
    before = datetime(2027, 3, 27, 12, tzinfo=UTC)
    assert times("cron(30 2 * * ? *)", "Europe/Berlin", before, 2) == [
        "2027-03-29T02:30+02:00",
        "2027-03-30T02:30+02:00",
    ]
    before = datetime(2026, 10, 24, 12, tzinfo=UTC)
    assert times("cron(30 2 * * ? *)", "Europe/Berlin", before, 2) == [
        "2026-10-25T02:30+02:00",
        "2026-10-26T02:30+01:00",
    ]


def test_the_day_is_that_of_the_time_zone() -> None:
    late = datetime(2026, 11, 23, 16, tzinfo=UTC)
    assert times("cron(0 3 ? * TUE *)", "Asia/Tokyo", late, 1) == ["2026-11-24T03:00+09:00"]


def test_a_rate_begins_when_the_schedule_is_made() -> None:
    found = known_times("rate(6 hours)", "UTC").upcoming(CREATED - timedelta(seconds=1), CREATED, 2)
    assert found == (CREATED, CREATED + timedelta(hours=6))


@pytest.mark.parametrize(
    ("expression", "zone", "found"),
    [
        ("rate(36500 days)", "UTC", 3),
        ("rate(999999 days)", "UTC", 2),
        ("at(9999-12-31T23:59:59)", "America/New_York", 0),
        ("at(0001-01-01T00:00:00)", "Asia/Tokyo", 0),
    ],
)
def test_the_times_of_a_schedule_end_with_the_calendar(expression: str, zone: str, found: int) -> None:
    assert len(times(expression, zone)) == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "--cron: no time is given; give one of --cron, --rate and --at"),
        ({"cron": "0 3 * * ? *", "rate": "1 day"}, "--cron: is given together with --rate"),
        ({"cron": "0 3 * * *"}, "--cron: '0 3 * * *': it has 5 fields and not six: minutes, hours"),
        ({"cron": "0 3 * * * *"}, "one of the fields day of month and day of week is to be ?"),
        ({"cron": "0 3 ? * ? *"}, "one of the fields day of month and day of week is to be ?"),
        ({"cron": "60 3 * * ? *"}, "the field minutes has '60'; it takes 0 to 59"),
        ({"cron": "0 24 * * ? *"}, "the field hours has '24'; it takes 0 to 23"),
        ({"cron": "0 3 32 * ? *"}, "the field day of month has '32'; it takes 1 to 31"),
        ({"cron": "0 3 * 13 ? *"}, "the field month has '13'; it takes 1 to 12 or JAN to DEC"),
        ({"cron": "0 3 ? * MOON *"}, "the field day of week has 'MOON'; it takes 1 to 7 or SUN to SAT"),
        ({"cron": "0 3 ? * 8 *"}, "the field day of week has '8'; it takes 1 to 7 or SUN to SAT, with , - * / L # ?"),
        ({"cron": "0 3 ? * 0 *"}, "the field day of week has '0'"),
        ({"cron": "R 3 * * ? *"}, "the field minutes has 'R'"),
        ({"cron": "? 3 * * ? *"}, "the field minutes has '?'"),
        ({"cron": "0 3 1,15W * ? *"}, "the field day of month has '1,15W'; it takes 1 to 31, with , - * / L W ?"),
        ({"cron": "0 3 ? * MON#6 *"}, "the field day of week has 'MON#6'"),
        ({"cron": "0 3 ? * 3#1,6#3 *"}, "the field day of week has '3#1,6#3'; with # it takes one day and no list"),
        ({"cron": "*/0 3 * * ? *"}, "the field minutes has '*/0'; it takes 0 to 59, with , - * /"),
        ({"cron": "0 3 * * ? 1969"}, "the field year has '1969'; it takes 1970 to 2099"),
        ({"cron": "0 3 30 2 ? *"}, "--cron: '0 3 30 2 ? *' names no time to come"),
        ({"cron": "0 3 * * ? 2025"}, "names no time to come"),
        ({"cron": "rate(1 day)"}, "--cron: 'rate(1 day)' is of another kind; give it as --rate"),
        ({"rate": "0 days"}, "--rate: '0 days' is not a rate; for example '6 hours' or '1 day'"),
        ({"rate": "999999 days"}, "--rate: '999999 days' is too long; at most 36500 days"),
        ({"rate": "36501 days"}, "--rate: '36501 days' is too long"),
        ({"at": "9999-12-31T23:59:59", "time_zone": "America/New_York"}, "names no time to come"),
        ({"rate": "1 week"}, "--rate: '1 week' is not a rate"),
        ({"at": "2027-02-30T03:00:00"}, "--at: '2027-02-30T03:00:00' is not a date and a time"),
        ({"at": "2026-01-01T00:00:00"}, "--at: '2026-01-01T00:00:00' names no time to come"),
        ({"rate": "1 day", "time_zone": "Europe/Berlyn"}, "--timezone: 'Europe/Berlyn' is no time zone"),
        ({"rate": "1 day", "time_zone": "../etc"}, "--timezone: '../etc' is no time zone"),
        ({"rate": "1 day", "time_zone": ""}, "--timezone: '' is no time zone"),
    ],
)
def test_what_is_no_time_is_refused_by_its_option(options: dict[str, str], said: str) -> None:
    given = {"cron": None, "rate": None, "at": None, "time_zone": "UTC", **options}
    with pytest.raises(InvalidRequest) as refused:
        times_of(now=NOW, **given)  # type: ignore[arg-type]
    assert said in str(refused.value)
