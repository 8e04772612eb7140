"""The entries of a tree that is audited: a bucket, a directory of this machine, or the ledger of a plan."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.books.failures import Failure
from fanout.books.summary_document import PlannedEntry
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Kind
from fanout.model.segment import Segment
from fanout_cli.audit.findings import LISTED_TOO, Audit, Audited, of_head, of_listed

_HEADS_AT_ONCE = 16
_PLANNED_FILE = re.compile(r"planned(?:-\d+)?\.jsonl(?:\.gz)?")
_FAILURES_FILE = re.compile(r"failures(?:-\d+)?\.jsonl")


def audit_bucket(audit: Audit, s3: Any, bucket: str, prefix: str, heads: int, seed: int = 0) -> None:
    """List a prefix, and ask ``heads`` objects of it, chosen by chance, for their metadata."""
    chosen: list[tuple[str, int]] = []
    chance = random.Random(seed)
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=prefix, OptionalObjectAttributes=list(LISTED_TOO)
    )
    files = 0
    for page in pages:
        for one in page.get("Contents", []):
            key, size = one["Key"], one["Size"]
            path = key.removeprefix(prefix)
            if not path:
                continue  # the marker of the prefix itself
            seen = of_listed(path, one)
            audit.add(seen)
            if seen.kind is Kind.DIRECTORY:
                continue
            files += 1  # each file of the tree is as likely to be among the chosen as any other
            if len(chosen) < heads:
                chosen.append((key, size))
            elif (place := chance.randrange(files)) < heads:
                chosen[place] = (key, size)
    _sample(audit, s3, bucket, prefix, chosen)


def _sample(audit: Audit, s3: Any, bucket: str, prefix: str, chosen: list[tuple[str, int]]) -> None:
    from botocore.exceptions import ClientError

    def ask(key: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = s3.head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:  # deleted since it was listed
                return None
            raise
        return found

    with ThreadPoolExecutor(_HEADS_AT_ONCE) as pool:
        for (key, size), found in zip(chosen, pool.map(ask, (key for key, _ in chosen)), strict=True):
            if found is None:
                continue
            audit.sampled += 1
            for finding in of_head(found):
                audit.count(finding, key.removeprefix(prefix), size)


def audit_directory(audit: Audit, directory: Path) -> None:
    """Walk a directory, for instance a mounted file system. Raises ``FanoutError``."""
    met: set[str] = set()
    for entry in PosixTree(directory.resolve(), "", "audit", str(os.getpid())).list(Segment("")):
        is_further = entry.inode in met if entry.inode else False
        if entry.inode:
            met.add(entry.inode)
        audit.add(Audited(entry.path, entry.kind, entry.size, is_further_name=is_further))


def audit_plan(audit: Audit, ledger: Ledger) -> None:
    """Read what a plan would copy, and the names that it rejects. Raises ``LedgerBroken``."""
    for row in _planned(ledger):
        audit.add(Audited(row.path, row.kind, row.size, is_further_name=row.action == "link"))
    for key in ledger.keys("failures"):
        if _FAILURES_FILE.fullmatch(key):
            for failed in ledger.read_rows_as(key, lambda row: convert(row, Failure)):
                kind = Kind.DIRECTORY if failed.path.endswith("/") else Kind.FILE
                audit.add(Audited(failed.path, kind, failed.size))


def _planned(ledger: Ledger) -> Iterator[PlannedEntry]:
    for key in ledger.keys("planned"):
        if _PLANNED_FILE.fullmatch(key):
            yield from ledger.read_rows_as(key, lambda row: convert(row, PlannedEntry))
