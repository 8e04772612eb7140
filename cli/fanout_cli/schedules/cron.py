"""The cron expressions of EventBridge Scheduler: six fields, and the local times that they name.

Fields and signs: docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based. A range may run past
the greatest value to the least, as ``20-2`` of the hours in AWS's examples. ``L``, ``W`` and ``#`` stand alone in their
field: the EventBridge guide refuses ``3#1,6#3`` by name.

No library is used. What those on PyPI read wrongly in November 2026, of the signs that AWS documents:

| library            | of      | wrong                                                                              |
|--------------------|---------|------------------------------------------------------------------------------------|
| aws-croniter 2.1.1 | 2026-06 | ``L`` as day of the week and ``2#5`` of February never come; no step in years      |
| pyawscron 1.0.7    | 2024-08 | the same ``L``, ranges past the end, lists out of order, day 31 of shorter months  |
| croniter 7.0.0     | 2026-11 | the days of the week, which it counts from 0; no ``W``                             |
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

_NOT_SAID = "?"
_NEAR = re.compile(r"([0-9]{1,2})W")
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
    signs: str = "with , - * and /"

    def value(self, text: str) -> int:
        """A number or a word as a number. Raises ``CronError``."""
        if text in self.words:
            return self.words.index(text) + self.least
        if not text.isdigit() or not self.least <= int(text) <= self.most:
            raise self._error(text)
        return int(text)

    def values(self, text: str) -> frozenset[int]:
        """The values that a list of values, ranges and steps names. Raises ``CronError``."""
        return frozenset(value for part in text.split(",") for value in self._part(part))

    def _part(self, text: str) -> list[int]:
        found = _PART.fullmatch(text)
        if not found:
            raise self._error(text)
        first, last, step = found.groups()
        low = self.value(first) if first else self.least
        high = self.value(last) if last else low if first and not step else self.most
        if step == "0":
            raise CronError(f"the field {self.name} has {text!r}; a step is at least 1")
        if high < low and self is _YEAR:
            raise CronError(f"the field {self.name} has {text!r}, which runs backwards; give the earlier year first")
        size = self.most - self.least + 1
        steps = range(low, low + (high - low) % size + 1, int(step or 1))
        return [self.least + (value - self.least) % size for value in steps]

    def _error(self, text: str) -> CronError:
        words = f" or {self.words[0]} to {self.words[-1]}" if self.words else ""
        return CronError(
            f"the field {self.name} has {text!r}; it takes {self.least} to {self.most}{words}, {self.signs}"
        )


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MINUTES, _HOURS, _YEAR = _Field("minutes", 0, 59), _Field("hours", 0, 23), _Field("year", 1970, 2199)
_MONTH = _Field("month", 1, 12, _MONTHS)
_DAY_OF_MONTH = _Field("day of month", 1, 31, (), "with , - * and /; L, LW or 15W alone")
_DAY_OF_WEEK = _Field("day of week", 1, 7, _DAYS, "with , - * and /; L, 6L or 6#3 alone")


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
                for day in self._days(year, month):
                    if day >= first:
                        yield from (datetime(year, month, day.day, h, m) for h in self.hours for m in self.minutes)

    def _days(self, year: int, month: int) -> list[date]:
        days = [date(year, month, number + 1) for number in range(monthrange(year, month)[1])]
        if self.day_of_month != _NOT_SAID:
            return _days_of_month(self.day_of_month, days)
        return _days_of_week(self.day_of_week, days)


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


def _days_of_month(text: str, days: list[date]) -> list[date]:
    weekdays = [day for day in days if day.isoweekday() <= 5]
    if text in ("L", "LW"):
        return (days if text == "L" else weekdays)[-1:]
    if near := _NEAR.fullmatch(text):
        number = _DAY_OF_MONTH.value(near[1])  # the closest weekday of the same month, if the month has that day
        return [min(weekdays, key=lambda day: abs(day.day - number))] if number <= len(days) else []
    numbers = _DAY_OF_MONTH.values(text)
    return [day for day in days if day.day in numbers]


def _days_of_week(text: str, days: list[date]) -> list[date]:
    if last := _LAST_OF_KIND.fullmatch(text):
        return _of_kinds({_DAY_OF_WEEK.value(last[1])}, days)[-1:]
    if nth := _NTH_OF_KIND.fullmatch(text):
        return _of_kinds({_DAY_OF_WEEK.value(nth[1])}, days)[int(nth[2]) - 1 : int(nth[2])]
    return _of_kinds({7} if text == "L" else _DAY_OF_WEEK.values(text), days)


def _of_kinds(kinds: set[int] | frozenset[int], days: list[date]) -> list[date]:
    """The days whose number in a week that begins on Sunday with 1 is one of these."""
    return [day for day in days if day.isoweekday() % 7 + 1 in kinds]
