"""Live progress of a run, read from its ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from fanout.domain.errors import LedgerBroken, NotFound
from fanout.domain.ledger_keys import SHARDS
from fanout.domain.rows import counts_from_row, shard_from_row
from fanout.ledger import Ledger
from fanout.ports import WorkStore

LOOK_SECONDS = 1.0


class BucketStore:
    """A ``WorkStore`` over boto3 that only reads; for the command line, where a request a second is plenty."""

    def __init__(self, s3: Any, bucket: str) -> None:
        self._s3, self._bucket = s3, bucket

    def put(self, key: str, data: bytes) -> None:
        """The command line never writes a ledger."""
        raise PermissionError(f"{key}: the ledger is written by the run alone")

    def get(self, key: str) -> bytes:
        """See ``fanout.ports.WorkStore``."""
        try:
            body: bytes = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        except self._s3.exceptions.NoSuchKey as error:
            raise NotFound(key) from error
        return body

    def list(self, prefix: str) -> Iterator[str]:
        """See ``fanout.ports.WorkStore``."""
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
            yield from (listed["Key"] for listed in page.get("Contents", []))

    def remove(self, keys: Sequence[str]) -> None:
        """The command line never removes anything of a ledger."""
        raise PermissionError(f"{len(keys)} keys: the ledger is written by the run alone")


class Look(Protocol):
    """Looks at the ledger and shows what is new."""

    def __call__(self) -> None:
        """Look now, unless the last look was just before."""


class LedgerWatch:
    """What of a run's shards is done; each file of outcomes is read once."""

    def __init__(self, store: WorkStore, run_id: str) -> None:
        self._ledger = Ledger(store, run_id)
        self._seen: set[str] = set()
        self.total_entries = self.total_bytes = 0
        self.entries = self.bytes = self.failed = 0

    def look(self) -> bool:
        """Read what is new; returns whether the shards are known yet."""
        if not self.total_entries:
            try:
                rows = self._ledger.read_json(SHARDS)
            except LedgerBroken:
                return False
            shards = [shard_from_row(row["shard"]) for row in rows]
            self.total_entries = sum(shard.entries for shard in shards)
            self.total_bytes = sum(shard.bytes for shard in shards)
        for key in self._ledger.keys("outcomes/shards/"):
            if key.endswith(".json") and key not in self._seen:
                self._seen.add(key)
                self._add(key)
        return True

    def _add(self, key: str) -> None:
        for result, count in counts_from_row(self._ledger.read_json(key)["outcomes"]).items():
            self.entries += count.entries
            self.bytes += count.bytes
            if result.value == "failed":
                self.failed += count.entries


@contextmanager
def shown_progress(store: WorkStore, run_id: str, console: Console) -> Iterator[Look]:
    """A bar of the run's bytes on ``console`` with files and failures beside it."""
    watch = LedgerWatch(store, run_id)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[files]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("listing", total=None, files="")
        looked_at = 0.0

        def look() -> None:
            nonlocal looked_at
            if time.monotonic() - looked_at < LOOK_SECONDS:
                return
            looked_at = time.monotonic()
            if watch.look():
                files = f"{watch.entries:,}/{watch.total_entries:,} entries"
                files += f", {watch.failed:,} failed" if watch.failed else ""
                progress.update(bar, description="copying", total=watch.total_bytes, completed=watch.bytes, files=files)

        yield look


def describe_totals(totals: Any) -> str:
    """The books in one line."""
    return ", ".join(f"{name} {count['entries']:,}" for name, count in totals.items() if count["entries"])


def dump(document: Any) -> str:
    """One JSON document as text."""
    return json.dumps(document, indent=2)
