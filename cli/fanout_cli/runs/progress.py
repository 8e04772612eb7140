"""How far a run is, from what is cheap to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import convert

from fanout.ledger.keys import SHARDS
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import counts_from_row
from fanout.model.errors import LedgerBroken, NotFound
from fanout.model.shard import Rates, Shard
from fanout.ports.store import WorkStore
from fanout_cli.runs.map_runs import MapCounts

# Above so many shards their outcomes are not read one by one: the Map's own counts tell enough.
SHARDS_READ = 2_000


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


@dataclass(frozen=True, slots=True)
class Progress:
    """What of a run's copying is done. ``shards`` counts those of which nothing is left."""

    entries: int = 0
    total_entries: int = 0
    bytes: int = 0
    total_bytes: int = 0
    failed: int = 0
    shards: int = 0
    total_shards: int = 0

    def fraction(self, rates: Rates) -> float:
        """The share of the predicted seconds that is done, from 0 to 1."""
        total = rates.seconds(self.total_entries, self.total_bytes)
        return min(1.0, rates.seconds(self.entries, self.bytes) / total) if total else 0.0


def eta_seconds(progress: Progress, rates: Rates, elapsed_seconds: float, workers: int) -> float | None:
    """Seconds that are left: by the prediction for so many workers, corrected by how it has held so far."""
    done = progress.fraction(rates)
    if done > 0.0 and elapsed_seconds > 0.0:
        return elapsed_seconds * (1.0 - done) / done
    predicted = rates.seconds(progress.total_entries, progress.total_bytes)
    return predicted / workers if workers and predicted else None


class LedgerWatch:
    """What of a run's shards is done; each file of outcomes is read once."""

    def __init__(self, store: WorkStore, run_id: str) -> None:
        self._ledger = Ledger(store, run_id)
        self._seen: set[str] = set()
        self._totals: Progress | None = None
        self._entries = self._bytes = self._failed = 0

    def look(self, counts: MapCounts | None = None) -> Progress | None:
        """Read what is new; ``None`` until the shards are known. Of very many the Map's counts alone tell."""
        if self._totals is None:
            self._totals = self._read_totals()
        totals = self._totals
        if totals is None:
            return None
        shards = counts.done if counts is not None and counts.label == "CopyShards" else 0
        if totals.total_shards > SHARDS_READ:
            share = shards / totals.total_shards
            entries, size = round(share * totals.total_entries), round(share * totals.total_bytes)
            failed = counts.failed if counts is not None else 0
        else:
            self._read_outcomes()
            entries, size, failed = self._entries, self._bytes, self._failed
        return Progress(entries, totals.total_entries, size, totals.total_bytes, failed, shards, totals.total_shards)

    def _read_totals(self) -> Progress | None:
        try:
            rows = self._ledger.read_json(SHARDS)
        except LedgerBroken:
            return None
        shards = [convert(row["shard"], Shard) for row in rows]
        return Progress(
            total_entries=sum(shard.entries for shard in shards),
            total_bytes=sum(shard.bytes for shard in shards),
            total_shards=len(shards),
        )

    def _read_outcomes(self) -> None:
        for key in self._ledger.keys("outcomes/shards/"):
            if key.endswith(".json") and key not in self._seen:
                self._seen.add(key)
                for result, count in counts_from_row(self._ledger.read_json(key)["outcomes"]).items():
                    self._entries += count.entries
                    self._bytes += count.bytes
                    if result.value == "failed":
                        self._failed += count.entries


def describe_totals(totals: Any) -> str:
    """The books in one line."""
    return ", ".join(f"{name} {count['entries']:,}" for name, count in totals.items() if count["entries"])


def dump(document: Any) -> str:
    """One JSON document as text."""
    return json.dumps(document, indent=2)
