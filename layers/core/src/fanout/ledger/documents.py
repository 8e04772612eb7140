"""Documents of the ledger: a frozen msgspec Struct each, written as a JSON object with the version of its schema."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeVar, get_origin

from msgspec import Struct, convert, to_builtins

from fanout.ledger.kind import key_text
from fanout.model.document import SCHEMA_VERSION, Json, Lasting
from fanout.model.path_rules import PlainName

D = TypeVar("D")
# Indexes of entries of a shard that have an outcome: the first, and the one after the last.
Range = tuple[int, int]


def ranges_of(indexes: Iterable[int]) -> list[Range]:
    """Sorted, disjoint half-open ranges that hold just these indexes."""
    ranges: list[Range] = []
    for index in sorted(set(indexes)):
        if ranges and ranges[-1][1] == index:
            ranges[-1] = (ranges[-1][0], index + 1)
        else:
            ranges.append((index, index + 1))
    return ranges


def indexes_of(ranges: Iterable[Range]) -> set[int]:
    return {index for first, end in ranges for index in range(first, end)}


def disjoint(groups: Iterable[list[Range]]) -> bool:
    """Whether no index is in two of the groups."""
    ordered = sorted(one for group in groups for one in group)
    return all(before[1] <= after[0] for before, after in pairwise(ordered))


class Moment(Struct, frozen=True):
    """When something happened, in seconds since 1970; its key says what."""

    at: float


def document_row(document: Struct) -> Json:
    """A document as JSON values, its schema's version first."""
    return {"schema_version": SCHEMA_VERSION, **to_builtins(document, enc_hook=key_text)}


class AnotherVersion(ValueError):
    """A document is whole, and of a schema version that is not read."""


def check_version(row: Any) -> None:
    """Raise ``AnotherVersion`` for a document of another schema version than this one."""
    version = row.get("schema_version") if isinstance(row, dict) else None
    if version == SCHEMA_VERSION:
        return
    problem = f"its schema version is {version}, and this version of the product reads {SCHEMA_VERSION}"
    raise AnotherVersion(problem) if isinstance(version, int) else ValueError(problem)


def document_of(row: Any, kind: type[D]) -> D:
    """The document of a row, or the documents of rows, which a Map reads: its item is one, without a version.

    Raises ``AnotherVersion``, and ``msgspec.ValidationError`` for one that lacks a field or has one of another type;
    both are ``ValueError``.
    """
    if get_origin(kind) is list:
        return convert(row, kind, str_keys=True)
    if issubclass(kind, Lasting) and isinstance(row, dict) and row.get("schema_version") == SCHEMA_VERSION - 1:
        return convert(kind.upgraded(row), kind, str_keys=True)
    check_version(row)
    return convert(row, kind, str_keys=True)


class Marker(Struct, frozen=True):
    """A document that says something by being there."""


class Notes(Struct, frozen=True):
    """A phase's findings that the summary repeats, a sentence each."""

    notes: list[str]


class PhaseBegan(Struct, frozen=True):
    """When a phase began, in seconds since 1970."""

    began: float


class Spending(Struct, frozen=True):
    """The dollars that a run had spent when they were counted, in seconds since 1970."""

    dollars: float
    counted_at: float


class RawRequest(Struct, frozen=True):
    """request.json: the request as it came."""

    request: dict[str, Any]


class SegmentFailed(Struct, frozen=True):
    """Why a segment could not be listed: the name of the error, and its message."""

    segment: PlainName
    error: str
    message: str
