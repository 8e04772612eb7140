"""The ledger and documents of a run, as the command line reads them in the work bucket or below a directory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fanout.ledger.run_places import run_prefix
from fanout.model.document import SCHEMA_VERSION, json_value
from fanout.model.errors import NotFound
from fanout_cli.command_error import CommandError


def document_in(data: bytes, name: str) -> Any:
    """The value of a document. Raises ``CommandError`` for one of a newer version, or that is not whole."""
    try:
        found = json_value(data)
    except ValueError as error:
        raise CommandError(f"{name} is not whole ({error}); start the run again under another name") from error
    version = found.get("schema_version") if isinstance(found, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise CommandError(
            f"{name} was written by a newer version of the product (its schema version is {version}, this command "
            f"reads {SCHEMA_VERSION}); use the newer command, or start the run again under another name"
        )
    return found


class _ReadOnly:
    """A ``WorkStore`` refuses to write: only a run writes its ledger."""

    def put(self, key: str, data: bytes) -> None:
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def put_new(self, key: str, data: bytes) -> bool:
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def remove(self, keys: Sequence[str]) -> None:
        raise PermissionError(f"{len(keys)} keys: the ledger is written by the run alone")


class BucketStore(_ReadOnly):
    """A ``WorkStore`` over boto3 that only reads; for the command line, where a request a second is plenty."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3, self._bucket = s3, bucket

    def get(self, key: str) -> bytes:
        try:
            body: bytes = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except self._s3.exceptions.NoSuchKey as error:
            raise NotFound(key) from error
        return body

    def list(self, prefix: str) -> Iterator[str]:
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
            yield from (listed["Key"] for listed in page.get("Contents", []))


class DirectoryStore(_ReadOnly):
    """The ledger of one run as files below a directory, as a ``WorkStore`` that only reads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._prefix = run_prefix(self._directory.name)

    def get(self, key: str) -> bytes:
        try:
            return (self._directory / key.removeprefix(self._prefix)).read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(key) from error

    def list(self, prefix: str) -> Iterator[str]:
        if not prefix.startswith(self._prefix):
            return iter(())
        wanted = prefix.removeprefix(self._prefix)
        files = (one for one in (self._directory / wanted.rpartition("/")[0]).rglob("*") if one.is_file())
        keys = (self._prefix + file.relative_to(self._directory).as_posix() for file in files)
        return iter(sorted(key for key in keys if key.startswith(prefix)))


def describe_totals(totals: Any) -> str:
    """The books in one line."""
    return ", ".join(f"{name} {count['entries']:,}" for name, count in totals.items() if count["entries"])


def dump(document: Any) -> str:
    """A JSON document as text."""
    return json.dumps(document, indent=2)
