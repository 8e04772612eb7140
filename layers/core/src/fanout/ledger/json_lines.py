"""Encodes and decodes rows as lines of JSON: by msgspec, or by the standard library for rows that it refuses.

JSON in UTF-8 cannot hold a name that is not UTF-8. The standard library writes such bytes as escapes of lone
surrogates, and reads them. Numbers of msgspec have 64 bits; times of a file system may have more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder, Encoder

from fanout.ledger.kind import key_text
from fanout.model.document import DIGITS, json_value

# Rows that are written or parsed together: a call for each takes longer than the row.
_TOGETHER = 1_000
_encode_lines = Encoder(enc_hook=key_text).encode_lines
_decode_lines = Decoder().decode_lines
_encode_one = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
# msgspec reads integers of any length; so many digits in a row, as one byte each, are looked at one line at a time.
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_TOO_LONG = b"0" * (DIGITS + 1)


def lines_of(rows: Iterable[Any]) -> Iterator[bytes]:
    """The rows, each a line that ends in a newline, many of them at a time."""
    each = iter(rows)
    while some := list(islice(each, _TOGETHER)):
        try:
            yield _encode_lines(some)
        except (UnicodeEncodeError, OverflowError):
            yield "".join(f"{_encode_one(row)}\n" for row in some).encode()


def rows_of(data: bytes) -> Iterator[Any]:
    """The rows of lines. Raises ``ValueError`` for a line that is no JSON."""
    stream = BytesIO(data)
    while some := b"".join(islice(stream, _TOGETHER)):
        try:
            found = None if _TOO_LONG in some.translate(_AS_ZEROS) else _decode_lines(some)
        except (DecodeError, RecursionError):
            found = None
        if found is None:
            yield from (json_value(line) for line in some.split(b"\n") if line)
        else:
            yield from found
