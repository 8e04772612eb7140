"""The work bucket as the command line reads it, and books in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from fanout.model.errors import NotFound


class BucketStore:
    """A ``WorkStore`` over boto3 that only reads; for the command line, where a request a second is plenty."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3, self._bucket = s3, bucket

    def put(self, key: str, data: bytes) -> None:
        """The command line never writes a ledger."""
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def get(self, key: str) -> bytes:
        """See ``ports.tree.WorkStore``."""
        try:
            body: bytes = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except self._s3.exceptions.NoSuchKey as error:
            raise NotFound(key) from error
        return body

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.tree.WorkStore``."""
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
            yield from (listed["Key"] for listed in page.get("Contents", []))

    def remove(self, keys: Sequence[str]) -> None:
        """The command line never removes anything of a ledger."""
        raise PermissionError(f"{len(keys)} keys: the ledger is written by the run alone")


def describe_totals(totals: Any) -> str:
    """The books in one line."""
    return ", ".join(f"{name} {count['entries']:,}" for name, count in totals.items() if count["entries"])


def dump(document: Any) -> str:
    """A JSON document as text."""
    return json.dumps(document, indent=2)
