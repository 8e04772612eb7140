"""The times of a schedule: a cron, rate or at expression in a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from math import ceil
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fanout.model.errors import InvalidRequest
from fanout_cli.schedules.cron import Cron, CronError, parse_cron

_FORM = re.compile(r"(cron|rate|at)\((.*)\)", re.DOTALL)
_RATE = re.compile(r"([0-9]{1,6}) +(minute|hour|day)s?")
# Chosen: no schedule waits longer, and its next times stay within a calendar that ends with the year 9999.
_LONGEST_RATE = timedelta(days=36_500)
_UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_AT = "%Y-%m-%dT%H:%M:%S"
_EXAMPLES = {
    "cron": "six fields, for example '0 3 * * ? *' for every day at 3:00",
    "rate": "for example '6 hours' or '1 day'",
    "at": "for example 2027-01-31T03:00:00",
}


@dataclass(frozen=True)
class ScheduleExpression:
    """An expression as EventBridge Scheduler takes it, and the time zone in which it is meant."""

    expression: str
    zone: ZoneInfo
    rule: Cron | timedelta | datetime

    def upcoming(self, after: datetime, created: datetime, count: int) -> tuple[datetime, ...]:
        """The next times after ``after``, in the time zone. A rate is counted from when the schedule was made."""
        return tuple(islice(self._within_calendar(after, created), count))

    def _within_calendar(self, after: datetime, created: datetime) -> Iterator[datetime]:
        """The times until the year 9999, which ends Python's calendar."""
        try:
            yield from self._all(after, created)
        except OverflowError:
            return

    def _all(self, after: datetime, created: datetime) -> Iterator[datetime]:
        if isinstance(self.rule, timedelta):
            passed = max(ceil((after - created) / self.rule), 0)
            begin = created + passed * self.rule
            while True:
                if begin > after:
                    yield begin.astimezone(self.zone)
                begin += self.rule
        first = after.astimezone(self.zone).date()
        local = [self.rule] if isinstance(self.rule, datetime) else self.rule.local_times(first)
        for naive in local:
            time = naive.replace(tzinfo=self.zone)
            # A time that the change to summer time leaves out is skipped; one that comes twice runs once.
            moment = time.astimezone(UTC)
            if moment > after.astimezone(UTC) and moment.astimezone(self.zone).replace(tzinfo=None) == naive:
                yield time


def times_of(cron: str | None, rate: str | None, at: str | None, time_zone: str, now: datetime) -> ScheduleExpression:
    """The times that the options of a command give. Raises ``InvalidRequest`` that names the option."""
    given = {form: text for form, text in (("cron", cron), ("rate", rate), ("at", at)) if text is not None}
    if len(given) != 1:
        problem = "no time is given" if not given else f"is given together with --{list(given)[1]}"
        raise InvalidRequest(f"--{next(iter(given), 'cron')}", problem, "give one of --cron, --rate and --at")
    ((form, text),) = given.items()
    zone = _zone("--timezone", time_zone)
    found = _FORM.fullmatch(text.strip())
    if found and found[1] != form:
        raise InvalidRequest(f"--{form}", f"{text[:80]!r} is of another kind", f"give it as --{found[1]}")
    times = _times(f"--{form}", form, " ".join((found[2] if found else text).split()), zone)
    if isinstance(times.rule, timedelta) and times.rule > _LONGEST_RATE:
        raise InvalidRequest(f"--{form}", f"{text[:80]!r} is too long", f"at most {_LONGEST_RATE.days} days")
    if not times.upcoming(now, now, 1):
        raise InvalidRequest(f"--{form}", f"{text[:80]!r} names no time to come", _EXAMPLES[form])
    return times


def known_times(
    expression: str, time_zone: str, field: str = "ScheduleExpression", zone_field: str = "ScheduleExpressionTimezone"
) -> ScheduleExpression:
    """The times of an expression with its kind, as ``rate(1 day)``. Raises ``InvalidRequest`` that names the field."""
    found = _FORM.fullmatch(expression)
    if not found:
        allowed = "rate(1 day), cron(0 3 * * ? *) or at(TIME)"
        raise InvalidRequest(field, f"{expression[:80]!r} is not a schedule", allowed)
    return _times(field, found[1], found[2], _zone(zone_field, time_zone))


def _zone(field: str, name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        allowed = "an IANA name, for example Europe/Berlin or UTC"
        raise InvalidRequest(field, f"{name[:50]!r} is no time zone that this machine knows", allowed) from error


def _times(field: str, form: str, text: str, zone: ZoneInfo) -> ScheduleExpression:
    try:
        if form == "cron":
            return ScheduleExpression(f"cron({text})", zone, parse_cron(text))
        if form == "at":
            when = datetime.strptime(text, _AT)
            return ScheduleExpression(f"at({when.isoformat()})", zone, when)
    except CronError as error:
        raise InvalidRequest(field, f"{text[:80]!r}: {error}", "") from error
    except ValueError as error:
        raise InvalidRequest(field, f"{text[:80]!r} is not a date and a time", _EXAMPLES[form]) from error
    found = _RATE.fullmatch(text)
    if not found or not int(found[1]):
        raise InvalidRequest(field, f"{text[:80]!r} is not a rate", _EXAMPLES[form])
    count, unit = int(found[1]), found[2]
    return ScheduleExpression(f"rate({count} {unit}{'' if count == 1 else 's'})", zone, count * _UNITS[unit])
