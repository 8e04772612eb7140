"""The cron expressions of EventBridge Scheduler: six fields, and the local times that they name.

Fields and signs: docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based.
No library is used: pyawscron 1.0.7 fails on ``LW``, on a list with ``W``, ``L`` or ``#``, and on ``L`` as a day of the
week; croniter has no ``W`` and counts the days of the week otherwise.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NOT_SAID = "?"
_LAST = "L"
_WEEKDAY_NEAR = re.compile(r"([0-9]{1,2}|L)W")
_LAST_OF_KIND = re.compile(r"([A-Z0-9]{1,3})L")
_NTH_OF_KIND = re.compile(r"([A-Z0-9]{1,3})#([1-5])")
_PART = re.compile(r"(?:\*|([A-Z0-9]{1,4})(?:-([A-Z0-9]{1,4}))?)(?:/([0-9]{1,4}))?")


class CronError(ValueError):
    """An expression that is none; the message names the field and what it may hold."""


@dataclass(frozen=True)
class _Field:
    """A field: its name, its least and greatest value, and words for its values, the first for the least."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The values in words."""
        return f"{self.least} to {self.most}" + (f" or {self.words[0]} to {self.words[-1]}" if self.words else "")

    def value(self, text: str) -> int:
        """A number or a word as a number. Raises ``CronError``."""
        if text in self.words:
            return self.words.index(text) + self.least
        if not text.isdigit() or not self.least <= int(text) <= self.most:
            raise CronError(f"the field {self.name} has {text!r}; it takes {self.allowed}")
        return int(text)

    def values(self, text: str) -> frozenset[int]:
        """The values that a list of values, ranges and steps names. Raises ``CronError``."""
        return frozenset(value for part in text.split(",") for value in self._part(part))

    def _part(self, text: str) -> range:
        found = _PART.fullmatch(text)
        if not found:
            raise CronError(f"the field {self.name} has {text!r}; it takes {self.allowed}, with , - * and /")
        first, last, step = found.groups()
        low = self.value(first) if first else self.least
        high = self.value(last) if last else low if first and not step else self.most
        if high < low:
            raise CronError(f"the field {self.name} has {text!r}, which runs backwards; write two ranges with a comma")
        if step == "0":
            raise CronError(f"the field {self.name} has {text!r}; a step is at least 1")
        return range(low, high + 1, int(step or 1))


_MINUTES = _Field("minutes", 0, 59)
_HOURS = _Field("hours", 0, 23)
_DAY_OF_MONTH = _Field("day of month", 1, 31)
_MONTH = _Field("month", 1, 12, MONTHS)
_DAY_OF_WEEK = _Field("day of week", 1, 7, DAYS)
_YEAR = _Field("year", 1970, 2199)


@dataclass(frozen=True)
class Cron:
    """A cron expression that was understood."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    day_of_month: str
    months: frozenset[int]
    day_of_week: str
    years: frozenset[int]

    def local_times(self, first: date) -> Iterator[datetime]:
        """The times from a day on, in order, without a time zone."""
        for year in sorted(year for year in self.years if year >= first.year):
            for month in sorted(self.months):
                for day in sorted(self._days(year, month)):
                    if date(year, month, day) >= first:
                        yield from (datetime(year, month, day, hour, m) for hour in self.hours for m in self.minutes)

    def _days(self, year: int, month: int) -> frozenset[int]:
        if self.day_of_month != _NOT_SAID:
            return _days_of_month(self.day_of_month, year, month)
        return _days_of_week(self.day_of_week, year, month)


def parse_cron(text: str) -> Cron:
    """Six fields: minutes, hours, day of month, month, day of week, year. Raises ``CronError``."""
    fields = text.upper().split()
    if len(fields) != 6:
        raise CronError(
            f"it has {len(fields)} fields and not six: minutes, hours, day of month, month, day of week, year"
        )
    minutes, hours, day_of_month, month, day_of_week, year = fields
    if (day_of_month == _NOT_SAID) == (day_of_week == _NOT_SAID):
        raise CronError("one of the fields day of month and day of week is to be ?, and the other one not")
    cron = Cron(
        tuple(sorted(_MINUTES.values(minutes))),
        tuple(sorted(_HOURS.values(hours))),
        day_of_month,
        _MONTH.values(month),
        day_of_week,
        _YEAR.values(year),
    )
    cron._days(2024, 1)  # says what is wrong with a day
    return cron


def _days_of_month(text: str, year: int, month: int) -> frozenset[int]:
    last = monthrange(year, month)[1]
    found: set[int] = set()
    for part in text.split(","):
        if part == _LAST:
            found.add(last)
        elif near := _WEEKDAY_NEAR.fullmatch(part):
            day = last if near[1] == _LAST else _DAY_OF_MONTH.value(near[1])
            if day <= last:
                found.add(_weekday_near(year, month, day, last))
        else:
            found |= {day for day in _DAY_OF_MONTH.values(part) if day <= last}
    return frozenset(found)


def _weekday_near(year: int, month: int, day: int, last: int) -> int:
    """The weekday closest to a day, in the same month."""
    kind = date(year, month, day).weekday()
    if kind == 5:
        return day - 1 if day > 1 else day + 2
    if kind == 6:
        return day + 1 if day < last else day - 2
    return day


def _days_of_week(text: str, year: int, month: int) -> frozenset[int]:
    last = monthrange(year, month)[1]
    found: set[int] = set()
    for part in text.split(","):
        if part == _LAST:
            found |= set(_of_kind(7, year, month, last))
        elif final := _LAST_OF_KIND.fullmatch(part):
            found.add(_of_kind(_DAY_OF_WEEK.value(final[1]), year, month, last)[-1])
        elif nth := _NTH_OF_KIND.fullmatch(part):
            found |= set(_of_kind(_DAY_OF_WEEK.value(nth[1]), year, month, last)[int(nth[2]) - 1 : int(nth[2])])
        else:
            for kind in _DAY_OF_WEEK.values(part):
                found |= set(_of_kind(kind, year, month, last))
    return frozenset(found)


def _of_kind(kind: int, year: int, month: int, last: int) -> range:
    """The days of a month that are the ``kind``-th of a week that begins on Sunday with 1."""
    first = date(year, month, 1)
    offset = (kind - 2 - first.weekday()) % 7
    return range((first + timedelta(offset)).day, last + 1, 7)
