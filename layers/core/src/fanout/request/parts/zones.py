"""Time zones by the names that a request gives them."""

from __future__ import annotations

from datetime import tzinfo
from functools import cache

from fanout.model.errors import InvalidRequest


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
