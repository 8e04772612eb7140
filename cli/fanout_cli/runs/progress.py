"""The work bucket as the command line reads it, and books in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fanout.ledger.run_places import run_prefix
from fanout.model.errors import NotFound


class BucketStore:
    """A ``WorkStore`` over boto3 that only reads; for the command line, where a request a second is plenty."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3, self._bucket = s3, bucket

    def put(self, key: str, data: bytes) -> None:
        """The command line never writes a ledger."""
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def put_new(self, key: str, data: bytes) -> bool:
        """The same."""
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def get(self, key: str) -> bytes:
        try:
            body: bytes = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except self._s3.exceptions.NoSuchKey as error:
            raise NotFound(key) from error
        return body

    def list(self, prefix: str) -> Iterator[str]:
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
            yield from (listed["Key"] for listed in page.get("Contents", []))

    def remove(self, keys: Sequence[str]) -> None:
        """The command line never removes anything of a ledger."""
        raise PermissionError(f"{len(keys)} keys: the ledger is written by the run alone")


class DirectoryStore:
    """The ledger of one run as files below a directory, as a ``WorkStore`` that only reads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._prefix = run_prefix(self._directory.name)

    def put(self, key: str, data: bytes) -> None:
        """The command line never writes a ledger."""
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def put_new(self, key: str, data: bytes) -> bool:
        """The same."""
        raise PermissionError(f"{key}: the ledger is written by the run alone")

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

    def remove(self, keys: Sequence[str]) -> None:
        """The command line never removes anything of a ledger."""
        raise PermissionError(f"{len(keys)} keys: the ledger is written by the run alone")


def describe_totals(totals: Any) -> str:
    """The books in one line."""
    return ", ".join(f"{name} {count['entries']:,}" for name, count in totals.items() if count["entries"])


def dump(document: Any) -> str:
    """A JSON document as text."""
    return json.dumps(document, indent=2)
