"""Objects of the source that are in an archive, with metadata of every kind: drawn, and judged.

| request          | what must hold                                                                   |
|------------------|----------------------------------------------------------------------------------|
| nothing          | each is a failed row of its own reason; nothing of it is written, and none moves |
| `archived: skip` | each is left out, and its copy from before stays                                 |
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.metadata import drawn_headers, drawn_tags
from tests.adversary.scope import Finding, Record
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT, Spec

REASON = "source object is archived"
_CLASSES = ("GLACIER", "DEEP_ARCHIVE")


def archive(draw: Random, direction: str, source: tuple[Spec, ...], options: dict[str, Any]) -> tuple[Spec, ...]:
    """Put some files of a source in S3 in an archive, now and then: those that carry metadata or tags first."""
    chance, skips, numbers = draw.random(), draw.random() < 0.5, draw.randint(1, 4)
    files = [at for at, spec in enumerate(source) if spec.kind == "file"]
    if chance > 0.1 or direction not in (S3_TO_MOUNT, INSIDE_S3) or not files or "checksums" in options:
        return source
    if skips:
        options["archived"] = "skip"
    carrying = [at for at in files if drawn_headers(source[at]) or drawn_tags(source[at])]
    chosen = {*draw.sample(files, min(numbers, len(files))), *carrying[:numbers]}
    classes = {at: draw.choice(_CLASSES) for at in sorted(chosen)}
    return tuple(replace(spec, storage=classes.get(at, "")) for at, spec in enumerate(source))


def judge_archived(record: Record) -> Iterator[Finding]:
    """A run in which nothing went wrong has a row for each archived object that it was to copy, and none for others."""
    if record.result.status not in ("SUCCEEDED", "FAILED_WITH_ITEMS") or record.told or record.touched:
        return
    tree = record.window[-1]
    skips = record.options.get("archived") == "skip"
    for row in record.result.failures:
        version = tree.get(row["path"])
        if row["reason"] == REASON and version is not None and (skips or not version.archived):
            yield Finding("archived", f"run {record.run} calls {row['path']!r} archived: {row}")
