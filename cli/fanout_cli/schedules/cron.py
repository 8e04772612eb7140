"""The cron expressions of EventBridge Scheduler: six fields, and the local times that they name.

Fields and signs: docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based. croniter reads them,
in its own form:

| EventBridge                   | croniter                                                                    |
|-------------------------------|-----------------------------------------------------------------------------|
| weekdays 1 to 7 from Sunday   | 0 to 6                                                                      |
| ``6L``, ``L`` as a weekday    | ``L5``, ``6``: the last Friday of a month, every Saturday                   |
| ``LW``                        | ``31W``, which in a shorter month is the weekday nearest to the last day    |
| ``31W``                       | the same, without the months that have no such day                          |
| ``?``, the year as sixth      | ``*``, the year behind a field of seconds                                   |

Libraries for AWS's form were tried in November 2026: aws-croniter 2.1.1 raises ValueError for ``LW``, refuses a step of
years and finds no time for ``L`` as a weekday; pyawscron 1.0.7 does the first and the last, and fails at February 29.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from croniter import CroniterBadDateError, croniter

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# Name, signs, and values of each field, in their order.
_FIELDS = (
    ("minutes", "", "0 to 59"),
    ("hours", "", "0 to 23"),
    ("day of month", "LW?", "1 to 31"),
    ("month", "", "1 to 12 or JAN to DEC"),
    ("day of week", "L#?", "1 to 7 or SUN to SAT"),
    ("year", "", "1970 to 2099"),
)
_YEARS = 130  # so many can lie between two times


class CronError(ValueError):
    """An expression that is none; the message names the field and what it may hold."""


@dataclass(frozen=True)
class Cron:
    """A cron expression that was understood: croniter's form, and a day that a month must have."""

    text: str
    least_days: int

    def local_times(self, first: date) -> Iterator[datetime]:
        """The times from a day on, in order, without a time zone."""
        begin = datetime(first.year, first.month, first.day) - timedelta(seconds=1)
        times = croniter(self.text, begin, ret_type=datetime, max_years_between_matches=_YEARS)
        try:
            while True:
                time = times.get_next()
                if monthrange(time.year, time.month)[1] >= self.least_days:
                    yield time
        except CroniterBadDateError:  # no further one
            return


def parse_cron(text: str) -> Cron:
    """Six fields: minutes, hours, day of month, month, day of week, year. Raises ``CronError``."""
    fields = text.upper().split()
    if len(fields) != len(_FIELDS):
        raise CronError(
            f"it has {len(fields)} fields and not six: minutes, hours, day of month, month, day of week, year"
        )
    if (fields[2] == "?") == (fields[4] == "?"):
        raise CronError("one of the fields day of month and day of week is to be ?, and the other one not")
    if "#" in fields[4] and "," in fields[4]:
        raise CronError(f"the field day of week has {fields[4]!r}; with # it takes one day and no list")
    words = ((), (), (), _MONTHS, _WEEKDAYS, ())
    numbers = [_numbered(given, known) for given, known in zip(fields, words, strict=True)]
    for at, ((name, signs, values), given, number) in enumerate(zip(_FIELDS, fields, numbers, strict=True)):
        if not (re.fullmatch(f"[0-9,*/{signs}-]+", number) and _is_read(at, number)):
            raise CronError(
                f"the field {name} has {given!r}; it takes {values}, with , - * / {' '.join(signs)}".rstrip()
            )
    near = re.fullmatch("([0-9]+)W", numbers[2])
    return Cron(_croniters(numbers), int(near[1]) if near else 0)


def _numbered(text: str, words: tuple[str, ...]) -> str:
    """A field with numbers for words; a range of one value, which croniter takes for all values, as that value."""
    for number, word in enumerate(words, start=1):
        text = text.replace(word, str(number))
    text = re.sub("(?<![0-9])0+(?=[0-9])", "", text)
    return re.sub(r"(?<![0-9])([0-9]+)-\1(/[0-9]+)?(?![0-9])", r"\1", text)


def _is_read(at: int, text: str) -> bool:
    """Whether a field is understood where the others hold what all may."""
    others = ["0", "0", "*" if at != 4 else "?", "*", "?" if at != 4 else "*", "*"]
    weekdays = re.findall("(?<![#/0-9])[0-9]+", text) if at == 4 else []
    return all(1 <= int(day) <= 7 for day in weekdays) and croniter.is_valid(
        _croniters([*others[:at], text, *others[at + 1 :]])
    )


def _croniters(numbers: list[str]) -> str:
    minutes, hours, day, month, weekday, year = numbers
    weekday = re.sub("(?<![#/0-9])[0-9]+", lambda found: str(int(found[0]) - 1), "7" if weekday == "L" else weekday)
    weekday = re.sub("([0-9])L", r"L\1", weekday)
    day = {"?": "*", "LW": "31W"}.get(day, day)
    return f"{minutes} {hours} {day} {month} {weekday.replace('?', '*')} 0 {year}"
