"""Sizes and times as people write them in a request."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from fanout.facts import units
from fanout.model.errors import InvalidRequest

Size = int | str

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?(B|[KMGT]iB|[kKMGT]B?)?")
_BINARY = {"KiB": units.KIB, "MiB": units.MIB, "GiB": units.GIB, "TiB": 1024 * units.GIB}
_DECIMAL = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_AGE = re.compile(r"([0-9]{1,9})([smhdw])")
_AGE_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
# Chosen: no file is older, and the moment stays within what the ledger holds.
_MOST_AGE_SECONDS = 36_500 * 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def size_of(field: str, value: Size | None) -> int | None:
    """The number of a number or of a text: ``10 MiB``, ``150 MB`` and, of bytes as of counts, ``10M`` (10,000,000).

    Raises ``InvalidRequest`` that names the field.
    """
    if value is None or (isinstance(value, int) and value >= 0):
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidRequest(
            field, f"{value!r} is not a size", 'a number from 0, or text such as "10 MiB", "150 MB" or "10M"'
        )
    unit = match[2] or "B"
    return int(Decimal(match[1]) * (_BINARY.get(unit) or _DECIMAL.get(unit[0], 1)))


def time_of(field: str, text: str | None) -> int | None:
    """Nanoseconds since 1970 of an ISO 8601 time. Raises ``InvalidRequest`` that names the field."""
    if text is None:
        return None
    nanoseconds = parse_time(text)
    if nanoseconds is None:
        allowed = "ISO 8601 with a time zone, for example 2026-01-31T00:00:00Z"
        raise InvalidRequest(field, f"{text[:80]!r} is not a time with its zone", allowed)
    return nanoseconds


def age_of(field: str, text: str | None, absolute: str) -> int | None:
    """Nanoseconds of an age: ``45s``, ``90m``, ``6h``, ``30d``, ``2w``.

    Raises ``InvalidRequest`` that names the field, and ``absolute``, the field that takes a time.
    """
    if text is None:
        return None
    match = _AGE.fullmatch(text)
    seconds = int(match[1]) * _AGE_SECONDS[match[2]] if match else 0
    if not 0 < seconds <= _MOST_AGE_SECONDS:
        allowed = f'from "1s" to "36500d": a whole number and s, m, h, d or w; {absolute} takes a time'
        raise InvalidRequest(field, f"{text[:80]!r} is not an age", allowed)
    return seconds * 1_000_000_000


def parse_time(text: str) -> int | None:
    """Nanoseconds since 1970, ``None`` for what is no ISO 8601 time with a zone; below microseconds it is cut."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else (moment - _EPOCH) // timedelta(microseconds=1) * 1000
