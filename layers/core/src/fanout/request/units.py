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
    return int(Decimal(match[1]) * _factor(match[2] or "B"))


def _factor(unit: str) -> int:
    return _BINARY.get(unit) or _DECIMAL.get(unit[0], 1)


def time_of(field: str, text: str | None) -> int | None:
    """Nanoseconds since 1970 of an ISO 8601 time. Raises ``InvalidRequest`` that names the field."""
    if text is None:
        return None
    nanoseconds = parse_time(text)
    if nanoseconds is None:
        allowed = "ISO 8601 with a time zone, for example 2026-01-31T00:00:00Z"
        raise InvalidRequest(field, f"{text[:80]!r} is not a time with its zone", allowed)
    return nanoseconds


def parse_time(text: str) -> int | None:
    """Nanoseconds since 1970, ``None`` for what is no ISO 8601 time with a zone; below microseconds it is cut."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else (moment - _EPOCH) // timedelta(microseconds=1) * 1000
