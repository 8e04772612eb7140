"""JSON: documents of the ledger with the version of their schema, and how the text of others is read.

``json_value`` is the one decoder of the product, and this is its rule for numbers:

| a number in the text or in a request            | Python                          | here    |
|-------------------------------------------------|---------------------------------|---------|
| ``NaN``, ``Infinity``, ``-Infinity``            | reads it; comparisons mean less | refused |
| over what a float holds, as 1e400               | reads infinity                  | refused |
| an integer of more than 40 digits               | reads up to 4,300 digits        | refused |

Times in nanoseconds may have more than 64 bits: 2**63 seconds have 28 digits.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from msgspec import Struct

Json = dict[str, Any]
SCHEMA_VERSION = 2
DIGITS = 40
_BOUND = 10**DIGITS


class Lasting(Struct, frozen=True):
    """A document that outlives the run that wrote it, so it is read in the schema version before too.

    A field that is newer than that has a default; ``upgraded`` changes what else differs.
    """

    @classmethod
    def upgraded(cls, row: Json) -> Json:
        """A row of the schema version before as one of this version."""
        return row


def utc(seconds: float) -> str:
    """Seconds since 1970 as a time of ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def json_value(text: str | bytes) -> Any:
    """The value of JSON text. Raises ``ValueError`` that says what is wrong with it."""
    try:
        return json.loads(text, parse_float=_float, parse_int=_integer, parse_constant=_float)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def number_problem(value: float) -> str | None:
    """The fault of a number, by the table above."""
    if isinstance(value, float):
        return None if isfinite(value) else f"{value!r} is not a finite number"
    return None if abs(value) < _BOUND else f"a number of more than {DIGITS} digits is not read"


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text[:DIGITS]} is not a finite number")
    return value


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > DIGITS:
        raise ValueError(f"{text[:8]}... has more than {DIGITS} digits")
    return int(text)
