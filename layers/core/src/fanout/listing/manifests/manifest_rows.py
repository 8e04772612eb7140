"""The rows of a manifest as entries to look up; docs/how-to/manifests.md is the contract.

A row is untrusted input. A path that leads out of the source is rejected. A row that cannot be read becomes an
outcome that names the row.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from fanout.model.document import json_value
from fanout.model.entry import Entry, Kind
from fanout.model.outcome import Reason
from fanout.model.path_rules import key_too_long, reason_against_file_path
from fanout.model.segment import ManifestPart, Row, Rows
from fanout.request.fields.units import parse_time
from fanout.request.manifest import BUCKET, ENCODED_KEY, KEY, MAY_BE_MISSING, PATH
from fanout.request.options import OnConflict
from fanout.request.request import Request

# The format of an ETag from S3; any other text would go unchecked from the manifest into a request's header.
_ETAG = re.compile(r'"?([0-9a-fA-F]{32}(?:-[0-9]{1,5})?)"?')
# "." and the "./" before a path, once or more.
_HERE = re.compile(r"\A(?:\./+)*(?:\.\Z)?")
_NO_OBJECT = {"islatest": "false", "isdeletemarker": "true"}
RowFields = Mapping[str, Any]


class BrokenRow(Exception):
    """A row that cannot be read; the message says what is wrong with it."""


def read_row(line: bytes, part: ManifestPart, request: Request) -> Row | None:
    """The row of a line, or ``None`` if it names nothing in the source. Raises ``BrokenRow``."""
    text = line.decode("utf-8", "surrogateescape")
    fields = _json_fields(text) if part.rows is Rows.JSONL else _csv_fields(text, part)
    if part.rows is Rows.INVENTORY and _is_no_object(fields):
        return None
    path = _path(fields, request)
    if request.source.is_keyed and fields.get(BUCKET, request.source.bucket) != request.source.bucket:
        place = f"s3://{fields[BUCKET]}/{fields.get(PATH, fields.get(KEY))}"
        return Row(_speakable(place), reason=Reason.OTHER_BUCKET)
    if path is not None:
        path = _speakable(path)
    if path is None:
        key = _speakable(str(fields[KEY]))
        if part.rows is Rows.INVENTORY:  # which is of the whole bucket
            return None
        encoded = decoded(key).startswith(request.source.place)
        return Row(key, reason=Reason.KEY_ENCODED if encoded else Reason.OUTSIDE_SOURCE)
    if not path:
        is_root = KEY in fields or bool(fields.get(PATH))
        return None if is_root else Row(path, reason=Reason.NAME_EMPTY)
    if fields.get("reason") == Reason.EXTRA.value:
        return Row(path, reason=Reason.EXTRA_IN_MANIFEST)
    reason = _reason_against(path, request)
    if reason is not None:
        return Row(path, reason=reason)
    of_verification = fields.get("phase") == "verify" and not request.destination.is_keyed
    if fields.get("reason") == Reason.UNLISTABLE.value and path.endswith("/"):
        return Row(path, subtree=True, of_verification=of_verification)
    entry = _entry(path, fields) if request.source.is_keyed else None
    may_be_missing = str(fields.get(MAY_BE_MISSING)).lower() == "true"
    return Row(path, entry, may_be_missing=may_be_missing, of_verification=of_verification)


def _json_fields(text: str) -> RowFields:
    try:
        value = json_value(text)
    except ValueError as error:
        raise BrokenRow("is no JSON") from error
    if isinstance(value, str):
        return {PATH: value}
    if isinstance(value, dict) and isinstance(value.get(ENCODED_KEY), str):
        return {KEY: decoded(value[ENCODED_KEY]), **value}
    if not isinstance(value, dict) or not isinstance(value.get(PATH, value.get(KEY)), str):
        raise BrokenRow("is neither a path as JSON string nor an object with the path or the key as one")
    return value


def _csv_fields(text: str, part: ManifestPart) -> RowFields:
    fields = csv_row(text)
    if len(fields) != len(part.columns):
        raise BrokenRow(f"has {len(fields)} fields, not {len(part.columns)} ({', '.join(part.columns)})")
    named = dict(zip(part.columns, fields, strict=True))
    encoded = KEY if part.rows is Rows.INVENTORY else ENCODED_KEY
    return {**named, KEY: decoded(named[encoded])} if encoded in named else named


def decoded(key: str) -> str:
    """A key that is URL-encoded, as S3 Inventory and S3 Batch Operations write keys."""
    return unquote_plus(key, errors="surrogateescape")


def csv_row(text: str) -> list[str]:
    """The fields of a line of CSV. Raises ``BrokenRow``."""
    try:
        return next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        raise BrokenRow(f"is no CSV ({error}); a name with a line break is written in JSON lines") from error


def _is_no_object(fields: RowFields) -> bool:
    return any(str(fields.get(name)).lower() == value for name, value in _NO_OBJECT.items())


def _path(fields: RowFields, request: Request) -> str | None:
    """The path below the source; ``None`` for a key that is not below it.

    On a file system ``./a`` is ``a``, as ``find .`` writes it; in a bucket they are two keys.
    """
    if isinstance(fields.get(PATH), str):
        path = str(fields[PATH])
        return path if request.source.is_keyed else _HERE.sub("", path)
    if not request.source.is_keyed:
        raise BrokenRow("has a key and no path, but the source is no bucket")
    key, prefix = str(fields[KEY]), request.source.place
    return key.removeprefix(prefix) if key.startswith(prefix) else None


def _speakable(path: str) -> str:
    """The path as a listing writes it. Raises ``BrokenRow`` if no bytes correspond to it."""
    try:
        return os.fsdecode(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise BrokenRow(f"holds {error.object[error.start]!a}, which encodes no byte of a name") from error


def _reason_against(path: str, request: Request) -> Reason | None:
    """Why a path is refused before any lookup."""
    if "\0" in path:
        return Reason.NAME_NUL
    to_files = not request.destination.is_keyed and request.on_conflict is not OnConflict.ESCAPE
    if request.source.is_keyed:
        reason = key_too_long(path, len(request.source.place.encode()))
        return reason or (reason_against_file_path(path) if to_files else None)
    reason = reason_against_file_path(path)
    # No entry of a file system has such a path: the manifest is wrong, and no name is.
    return Reason.ROW_NOT_BELOW if reason in (Reason.NAME_ABSOLUTE, Reason.NAME_DOT, Reason.NAME_EMPTY) else reason


def _entry(path: str, fields: RowFields) -> Entry | None:
    """The entry that a listing would show, if the row gives size, ETag and time."""
    size, etag = str(fields.get("size", "")), _ETAG.fullmatch(str(fields.get("etag", "")))
    modified_ns = parse_time(str(fields.get("last_modified", fields.get("lastmodifieddate", ""))))
    if etag is None or modified_ns is None or not re.fullmatch("[0-9]{1,15}", size):
        return None
    kind = Kind.DIRECTORY if path.endswith("/") and not int(size) else Kind.FILE
    return Entry(path, kind, int(size), modified_ns, modified_ns, f'"{etag[1]}"')
