"""A manifest instead of a listing: what the tests of it share."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import Any

from fanout.model.entry import Kind
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

PLACE = {"jsonl": "lists/a.jsonl", "csv": "lists/a.csv", "jsonl.gz": "lists/a.jsonl.gz", "csv.gz": "lists/a.csv.gz"}
FROM_MOUNT = {"source": "efs:///from", "destination": "s3://a-bucket/to/"}


def world_of(files: dict[str, bytes]) -> World:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for path, data in files.items():
        world.source.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, data)
    return world


def contents(tree: object) -> dict[str, bytes]:
    assert isinstance(tree, MemoryTree)
    return {path: stored.data for path, stored in tree.contents().items()}


def put(world: World, data: bytes, form: str = "jsonl") -> dict[str, Any]:
    """Store a manifest; returns the request for it."""
    world.objects.put("lists", PLACE[form], gzip.compress(data) if form.endswith(".gz") else data)
    return {**REQUEST, "manifest": f"s3://lists/{PLACE[form]}"}


def json_lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def csv_rows(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")


def failures(world: World) -> dict[str, tuple[str, str]]:
    return {row["path"]: (row["outcome"], row["reason"]) for row in world.ledger.read_rows("failures.jsonl")}
