"""``limits.window``: the hours in which a run works, by the clock of a time zone."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from functools import cache

from msgspec import Struct

from fanout.model.errors import InvalidRequest

FIELD = "limits.window"
DAY_MINUTES, DAY_SECONDS = 1_440, 86_400
# Chosen: twice as long as a function works, so that a whole function fits in wherever it begins.
LEAST_MINUTES = 30
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EXAMPLES = '"22:00-06:00 Europe/Berlin", or with the days on which it opens "Mon-Fri 22:00-06:00 Europe/Berlin"'
_FORM = re.compile(r"(?:([A-Za-z,-]+) )?([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2}) ([A-Za-z0-9_+/-]{1,64})")
# A window that opens once a week may miss a week whose clock leaves its hours out: within three weeks, each day with
# two edges, it opens or closes.
_EDGES = 2 * 7 * 3


class Window(Struct, frozen=True):
    """Open from the minute of a day until another one, on the next day if that is not later, by the clock of a zone.

    ``days`` are those on which it opens, Monday is 0. Where the zone changes its clock, what the clock shows counts:
    an hour that is left out is missing in the window, and one that comes twice is in it twice.
    """

    begins: int
    ends: int
    zone: str
    days: tuple[int, ...] = tuple(range(7))

    @property
    def opens_not_daily(self) -> bool:
        """Whether there are days on which it does not open."""
        return len(self.days) < len(_DAYS)

    def is_open(self, at: float) -> bool:
        """Whether it is open then, in seconds since 1970; it is closed at the moment of its end."""
        here = self._local(at)
        minute, today = here.hour * 60 + here.minute, here.weekday()
        if self.begins < self.ends:
            return today in self.days and self.begins <= minute < self.ends
        return (minute >= self.begins and today in self.days) or (minute < self.ends and (today - 1) % 7 in self.days)

    def changes_at(self, at: float) -> float:
        """When it opens or closes next after ``at``."""
        was_open, at = self.is_open(at), float(int(at))
        for _ in range(_EDGES):
            here = self._local(at)
            second = here.hour * 3600 + here.minute * 60 + here.second
            edge = at + min((60 * one - second) % DAY_SECONDS or DAY_SECONDS for one in (self.begins, self.ends))
            if self._local(edge).utcoffset() == here.utcoffset():
                if self.is_open(edge) != was_open:
                    return edge
            else:  # the clock changes before: minute by minute, as all changes are at whole minutes
                for moment in range(int(at // 60) * 60 + 60, int(edge) + 1, 60):
                    if self.is_open(moment) != was_open:
                        return float(moment)
            at = edge
        raise AssertionError(f"{self} never changes")

    def _local(self, at: float) -> datetime:
        return datetime.fromtimestamp(int(at), zone(self.zone))


def parse_window(text: str) -> Window:
    """The window of a text as ``22:00-06:00 Europe/Berlin`` or ``Mon-Fri,Sun 22:00-06:00 Europe/Berlin``.

    Raises ``InvalidRequest`` that names the field.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise InvalidRequest(FIELD, f"{text[:80]!r} is not a window", f"for example {_EXAMPLES}")
    begins, ends = (_minute(found[at], found[at + 1]) for at in (2, 4))
    if begins == DAY_MINUTES:
        raise InvalidRequest(FIELD, "begins at 24:00", "the day begins at 00:00; only an end may be 24:00")
    length = (ends - begins) % DAY_MINUTES or (DAY_MINUTES if begins != ends else 0)
    if not length:
        raise InvalidRequest(FIELD, f"begins and ends at {found[2]}:{found[3]}", "two times; a day is 00:00-24:00")
    if length < LEAST_MINUTES:
        raise InvalidRequest(FIELD, f"is open for {length} minutes", f"at least {LEAST_MINUTES} minutes")
    days = _days(found[1]) if found[1] else tuple(range(7))
    if length == DAY_MINUTES and len(days) == len(_DAYS):
        raise InvalidRequest(FIELD, "is never closed", "leave it out")
    check_zone(FIELD, found[6])
    return Window(begins, ends, found[6], days)


def _minute(hour: str, minute: str) -> int:
    found = int(hour) * 60 + int(minute)
    if int(minute) > 59 or found > DAY_MINUTES:
        raise InvalidRequest(FIELD, f"{hour}:{minute} is not a time of day", "00:00 to 23:59, or 24:00 as the end")
    return found


def _days(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        for name in (first, last) if dash else (first,):
            if name not in _DAYS:
                raise InvalidRequest(FIELD, f"{name[:20]!r} is not a day", f"one of {', '.join(_DAYS)}, or Mon-Fri")
        begin = _DAYS.index(first)
        found |= {(begin + day) % 7 for day in range((_DAYS.index(last or first) - begin) % 7 + 1)}
    return tuple(sorted(found))


def closed_seconds(text: str, begins: float, working: float) -> float:
    """The seconds for which the window is closed until a run that begins then has worked so long."""
    window, at, closed = parse_window(text), begins, 0.0
    while True:
        edge = window.changes_at(at)
        if not window.is_open(at):
            closed += edge - at
        elif edge - at >= working:
            return closed
        else:
            working -= edge - at
        at = edge


def opens_again(text: str, at: float) -> str:
    """The time of day and the zone of the window's next opening: ``22:00 Europe/Berlin``, with the day if it is far."""
    window = parse_window(text)
    opens = window.changes_at(window.changes_at(at) if window.is_open(at) else at)
    here = datetime.fromtimestamp(opens, zone(window.zone))
    day = f"{_DAYS[here.weekday()]} " if opens - at >= DAY_SECONDS else ""
    return f"{day}{here:%H:%M} {window.zone}"


@cache
def zone(name: str) -> tzinfo:
    """The time zone of a known name. Raises ``KeyError``, ``ValueError`` or ``OSError`` for another."""
    from zoneinfo import ZoneInfo  # most runs have neither a window nor a time to end by

    return ZoneInfo(name)


def check_zone(field: str, name: str) -> None:
    """Raise ``InvalidRequest`` that names the field for a zone that is not known."""
    try:
        zone(name)
    except (KeyError, ValueError, OSError) as error:
        problem = f"{name!r} is not a known time zone"
        raise InvalidRequest(field, problem, "a name such as Europe/Berlin or UTC") from error
