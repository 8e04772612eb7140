"""The one form of a certificate as bytes: JSON as RFC 8785 (JCS) writes it, of values for which that is plain.

Values are objects with ASCII names, arrays, strings, whole numbers below 2**53, ``true``, ``false`` and ``null``. For
these ``json.dumps`` with sorted names and without blanks writes the same bytes as RFC 8785. Numbers with a fraction,
of which it does not, are refused.
"""

from __future__ import annotations

import json
from typing import Any

from fanout.model.json_text import json_value

_LARGEST = 2**53 - 1


def canonical(value: Any) -> bytes:
    """The bytes of a document. Raises ``ValueError`` for what has no such form."""
    _check(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def read_canonical(data: bytes) -> Any:
    """The value of bytes that are in this form. Raises ``ValueError`` that says what they are instead."""
    try:
        value = json_value(data)
    except ValueError as error:
        raise ValueError(f"it is not a JSON document ({error})") from error
    if canonical(value) != data:
        raise ValueError("it is not in canonical form, so it was changed after it was written")
    return value


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for name, one in value.items():
            if not (isinstance(name, str) and name.isascii()):
                raise ValueError(f"the name {name!r} is not ASCII")
            _check(one)
    elif isinstance(value, list):
        for one in value:
            _check(one)
    elif isinstance(value, float) or (isinstance(value, int) and abs(value) > _LARGEST):
        raise ValueError(f"the number {value!r} has no canonical form here")
    elif not isinstance(value, str | int | None):
        raise ValueError(f"{value!r} is no value of a certificate")
