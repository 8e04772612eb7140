"""A manifest: a list of what a run is about, instead of a listing; docs/manifests.md is the contract."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from fanout.domain.errors import InvalidRequest
from fanout.domain.locations import Location, S3Location, parse_bucket_key

PATH, KEY = "path", "key"
_ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".json")
_ALLOWED = f"s3://bucket/key of a {', '.join(_ENDINGS[:-1])} or of an S3 Inventory's manifest.json"


class ManifestLocation(Struct, frozen=True):
    """Where a manifest lies."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def is_inventory(self) -> bool:
        """Whether it names the data files of an S3 Inventory."""
        return self.key.endswith(".json")

    @property
    def is_failures(self) -> bool:
        """Whether it is what a run left to be tried again, which may go on in further files."""
        return self.key.endswith("/failures.jsonl")


def parse_manifest_location(text: str, source: Location) -> ManifestLocation:
    """The manifest that a request names. Raises ``InvalidRequest``."""
    location = ManifestLocation(*parse_bucket_key("manifest", text, _ALLOWED))
    if not location.key.endswith(_ENDINGS):
        raise InvalidRequest("manifest", f"{text!r} has another ending", f"allowed is {_ALLOWED}")
    if location.is_inventory and not isinstance(source, S3Location):
        raise InvalidRequest("manifest", f"an S3 Inventory lists a bucket, not {source}", "name a .csv or .jsonl")
    return location


class Rows(StrEnum):
    """How the rows of a manifest's file are written."""

    CSV = "csv"
    JSONL = "jsonl"
    INVENTORY = "inventory"


class ManifestPart(Struct, frozen=True):
    """A part of a manifest: the rows of a file whose first byte lies from ``first`` to before ``end``.

    The file at ``key``, in the manifest's bucket, is pinned by its ETag. A compressed one is read from its
    beginning, and its first ``done`` rows are left out. ``line`` is the number of the first row that counts,
    from 1, or 0 where that is not known. ``columns`` are those of CSV, in lower case.
    ``size`` is that of the file in bytes.
    """

    key: str
    etag: str
    size: int
    rows: Rows
    first: int
    end: int
    done: int = 0
    line: int = 0
    columns: tuple[str, ...] = ()

    @property
    def is_compressed(self) -> bool:
        """Whether the file is gzip."""
        return self.key.endswith(".gz")


def part_row(part: ManifestPart) -> dict[str, Any]:
    """A part, as it stands in its segment."""
    return {
        "key": part.key,
        "etag": part.etag,
        "size": part.size,
        "rows": part.rows.value,
        "first": part.first,
        "end": part.end,
        "done": part.done,
        "line": part.line,
        "columns": list(part.columns),
    }


def part_from_row(row: dict[str, Any]) -> ManifestPart:
    """The part of a row."""
    return ManifestPart(**{**row, "rows": Rows(row["rows"]), "columns": tuple(row["columns"])})
