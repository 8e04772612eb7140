"""Ends of runs whose way to S3 is one that lies."""

from __future__ import annotations

import random

from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.facts.tuning import BLOCK_BYTES
from fanout.model.checksum import crc64nvme
from fanout.model.location import S3Location
from tests.support.flow import World

TO_KEYS = {"source": "efs:///copy", "destination": "s3://a-bucket/in/"}
SMALL_BYTES = 700  # all alike, so that size tells nothing
PAGE_KEYS = 10


def tree_at(client: S3Client, location: S3Location) -> S3Tree:
    return S3Tree(client, location.bucket, location.prefix)


def bodies_of(count: int, *, large: int = 0) -> dict[str, bytes]:
    draw = random.Random(7)
    found = {f"d{number % 3}/f{number:02d}": draw.randbytes(SMALL_BYTES) for number in range(count)}
    return found | {f"large{number}": draw.randbytes(BLOCK_BYTES + 99) for number in range(large)}


def fill(client: S3Client, location: S3Location, bodies: dict[str, bytes], *, checksums: bool = True) -> None:
    for path, body in bodies.items():
        checksum = crc64nvme(body) if checksums else None
        client.put_object(location.bucket, location.prefix + path, body, crc64nvme=checksum)


def objects(client: S3Client, location: S3Location) -> dict[str, bytes]:
    listed = [path for page in [client.list_objects_v2(location.bucket, prefix=location.prefix)] for path in page.keys]
    return {
        key.removeprefix(location.prefix): client.get_object(location.bucket, key).body
        for key in listed
        if not key.endswith("/")
    }


def failures(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
