"""``limits.finish_by``: when a run is to have ended, as a time of day, a moment, or a time from its begin on.

| text                         | the moment                                                                |
|------------------------------|---------------------------------------------------------------------------|
| ``06:00 Europe/Berlin``      | the next one after the run began, by the clock of the zone                |
| ``2026-01-31T06:00:00+01:00``| itself; refused where the run begins after it                             |
| ``4h``, ``1h30m``, ``2d``    | so long after the run began                                               |

A run that goes on with an earlier one has a begin of its own. Where the zone's clock shows a time twice the first one
counts; one that it leaves out is as far before the change as it would have been after it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from fanout.model.document import utc
from fanout.model.errors import InvalidRequest
from fanout.request.fields.units import parse_time
from fanout.request.parts.window import check_zone, zone

FIELD = "limits.finish_by"
ALLOWED = '"06:00 Europe/Berlin", "4h", "1h30m", or ISO 8601 with a time zone, as "2026-01-31T06:00:00Z"'
# Chosen: no forecast is as exact as that, and no run takes as long.
LEAST_SECONDS, MOST_SECONDS = 60, 366 * 86_400
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?: ([A-Za-z0-9_+/-]{1,64}))?")
_LENGTH = re.compile(r"(?:([0-9]{1,3})d)?(?:([0-9]{1,4})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?")
_UNITS = (86_400, 3_600, 60, 1)


class FinishBy(Struct, frozen=True):
    """A time of day in a ``zone``, or a ``moment`` in seconds since 1970, or so many ``seconds``; the others are none.

    ``minute`` is that of the day.
    """

    minute: int = 0
    zone: str = ""
    moment: float | None = None
    seconds: int = 0

    def at(self, began: float) -> float:
        """When a run that began then is to have ended, in seconds since 1970."""
        if self.moment is not None:
            return self.moment
        if self.seconds:
            return began + self.seconds
        return min(at for at in self._shown_around(began) if at > began)

    def _shown_around(self, began: float) -> Iterator[float]:
        here = datetime.fromtimestamp(int(began), zone(self.zone))
        for days in range(3):
            day = (here + timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
            for fold in (0, 1):
                yield day.replace(hour=self.minute // 60, minute=self.minute % 60, fold=fold).timestamp()

    def said_as(self, at: float, began: float) -> str:
        """Text of the same kind whose moment is ``at`` or up to a minute later: what to type instead."""
        if self.zone:
            shown = datetime.fromtimestamp(math.ceil(at / 60) * 60, zone(self.zone))
            text = f"{shown:%H:%M} {self.zone}"
            if at <= parse_finish_by(text).at(began) <= at + 60:
                return text
        if self.seconds:
            return length_text(at - began)
        return utc(math.ceil(at))


def parse_finish_by(text: str) -> FinishBy:
    """The meaning of the text, by the table above. Raises ``InvalidRequest`` that names the field and the text."""
    found = _TIME.fullmatch(text)
    if found is not None:
        return _time_of_day(text, found)
    length = _LENGTH.fullmatch(text) if text else None
    if length is not None:
        seconds = sum(int(number or 0) * unit for number, unit in zip(length.groups(), _UNITS, strict=True))
        if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
            raise InvalidRequest(FIELD, f"{text!r} is not from a minute to 366 days", f"for example {ALLOWED}")
        return FinishBy(seconds=seconds)
    moment = parse_time(text) if "T" in text else None
    if moment is None:
        raise InvalidRequest(FIELD, f"{text[:80]!r} says no time", f"for example {ALLOWED}")
    return FinishBy(moment=moment / 1e9)


def _time_of_day(text: str, found: re.Match[str]) -> FinishBy:
    minute = int(found[1]) * 60 + int(found[2])
    if int(found[1]) > 23 or int(found[2]) > 59:
        raise InvalidRequest(FIELD, f"{text!r} is not a time of day", "00:00 to 23:59, with its zone")
    if found[3] is None:
        raise InvalidRequest(FIELD, f"{text!r} has no zone", f'for example "{text} Europe/Berlin" or "{text} UTC"')
    check_zone(FIELD, found[3])
    return FinishBy(minute=minute, zone=found[3])


def finish_at(text: str, began: float) -> float:
    """When a run that began then is to have ended. Raises ``InvalidRequest`` for a moment that has passed."""
    at = parse_finish_by(text).at(began)
    if at <= began:
        problem = f"{text!r} had passed when the run began, at {utc(began)}"
        raise InvalidRequest(FIELD, problem, "a later time; of a run that goes on with another, with --set")
    return at


def length_text(seconds: float) -> str:
    """A length in whole minutes, rounded up: ``90m`` is ``1h30m``."""
    hours, minutes = divmod(max(1, math.ceil(seconds / 60)), 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or not hours else "")


def local_time(text: str, now: float) -> str:
    """A time of day without a zone as a moment by the clock of this machine; any other text as it is."""
    found = _TIME.fullmatch(text)
    if found is None or found[3] is not None or int(found[1]) > 23 or int(found[2]) > 59:
        return text
    here = datetime.fromtimestamp(int(now)).astimezone()
    days = (here + timedelta(days=one) for one in range(2))
    times = (day.replace(hour=int(found[1]), minute=int(found[2]), second=0, tzinfo=None) for day in days)
    at = next(one for one in times if one.timestamp() > now)
    return datetime.fromtimestamp(at.timestamp(), UTC).astimezone().isoformat()
