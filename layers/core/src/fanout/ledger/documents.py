"""Documents of the ledger: a frozen msgspec Struct each, written as a JSON object with the version of its schema."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct, convert, to_builtins

from fanout.model.document import SCHEMA_VERSION, Json

D = TypeVar("D", bound=Struct)


def document_row(document: Struct) -> Json:
    """A document as JSON values, its schema's version first."""
    return {"schema_version": SCHEMA_VERSION, **to_builtins(document)}


def document_of(row: Any, kind: type[D]) -> D:
    """The document of a row.

    Raises ``ValueError`` for a document of another schema version, and ``msgspec.ValidationError``, which is one too,
    for one that lacks a field or has one of another type.
    """
    version = row.get("schema_version") if isinstance(row, dict) else None
    if version != SCHEMA_VERSION:
        raise ValueError(f"its schema version is {version}, and this version of the product reads {SCHEMA_VERSION}")
    return convert(row, kind, str_keys=True)
