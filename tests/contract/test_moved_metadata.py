"""Moves of objects with tags, redirects and metadata of other tools, over servers that show how many tags there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.tree import S3Tree
from fanout.model.document import Json
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from tests.contract.conftest import Needs, client_of, new_bucket
from tests.support.flow import World
from tests.support.moves import reasons
from tests.support.s3_proxy import S3Proxy
from tests.support.s3_servers import Lack, S3Server

FROM_S3: Json = {"source": "s3://a-bucket/in/", "destination": "efs:///out", "mode": "move"}
INSIDE_S3: Json = {"source": "s3://a-bucket/in/", "destination": "s3://a-bucket/out/", "mode": "move"}
_WHOLE = Segment("whole")
# SeaweedFS guesses a type from the bytes of an object that nobody gave one.
TYPE = {"content-type": "binary/octet-stream"}
REDIRECT = {"x-amz-website-redirect-location": "/new"}


@pytest.fixture
def proxy(s3_server: S3Server, needs: Needs) -> Iterator[S3Proxy]:
    needs(Lack.TAG_COUNTS)
    proxy = S3Proxy(s3_server.url)
    yield proxy
    proxy.close()


@pytest.fixture
def client(proxy: S3Proxy, s3_server: S3Server) -> S3Client:
    return client_of(dataclasses.replace(s3_server, url=proxy.url))


def tag(client: S3Client, bucket: str, key: str, tags: str) -> None:
    """Write the same object again with other tags, which moves neither its ETag nor its size."""
    client.put_object(bucket, key, b"body", TYPE | ({"x-amz-tagging": tags} if tags else {}))


def to_mount(client: S3Client, bucket: str, base: Path) -> World:
    source = S3Tree(client, bucket, "in/", is_source=True)
    return World(source=source, destination=PosixTree(base, "out", "run-1", "d"))


def inside(client: S3Client, bucket: str) -> World:
    ends = S3Location(bucket, "in/"), S3Location(bucket, "out/")
    trees: list[Any] = [S3Tree(client, bucket, end.prefix, is_source=end is ends[0]) for end in ends]
    return World(source=trees[0], destination=trees[1], copier=S3EntryCopier(client, *ends))


def left(client: S3Client, bucket: str) -> set[str]:
    return {entry.path for entry in S3Tree(client, bucket, "in/").list(_WHOLE)}


def test_to_a_mount_a_tagged_object_stays(client: S3Client, tmp_path: Path) -> None:
    bucket = new_bucket(client)
    tag(client, bucket, "in/tagged", "retain=10y")
    tag(client, bucket, "in/plain", "")
    world = to_mount(client, bucket, tmp_path)
    assert world.run(FROM_S3)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"tagged": Reason.NOT_HOLDABLE.value}, [*world.ledger.read_rows("failures.jsonl")]
    assert left(client, bucket) == {"tagged"}


def test_what_a_request_reads_as_attributes_is_held(client: S3Client, tmp_path: Path) -> None:
    bucket = new_bucket(client)
    client.put_object(bucket, "in/a", b"body", TYPE | {"x-amz-meta-mtime": "1700000000.5"})
    world = to_mount(client, bucket, tmp_path)
    summary = world.run({**FROM_S3, "attributes": {"from": "rclone"}})
    assert summary["status"] == "SUCCEEDED", reasons(world)
    assert (tmp_path / "out/a").stat().st_mtime_ns == 1_700_000_000_500_000_000


@pytest.mark.parametrize("there", ["", "retain=1y", "retain=10y&more=1"])
def test_inside_s3_a_copy_without_the_tags_of_its_source_keeps_that(client: S3Client, there: str) -> None:
    """No listing shows tags: the copy that is there has the bytes and the ETag of its source, and is unchanged."""
    bucket = new_bucket(client)
    tag(client, bucket, "in/a", "retain=10y")
    tag(client, bucket, "out/a", there)
    world = inside(client, bucket)
    world.run({**INSIDE_S3, "compare": "checksum"})
    moved = "10y" in there
    assert reasons(world) == ({} if moved else {"a": Reason.METADATA_DIFFERS.value})
    assert left(client, bucket) == (set() if moved else {"a"})


def test_inside_s3_tags_and_redirects_move_along(client: S3Client, needs: Needs) -> None:
    needs(Lack.REDIRECTS)
    bucket = new_bucket(client)
    client.put_object(bucket, "in/a", b"body", REDIRECT | {"x-amz-tagging": "retain=10y"})
    world = inside(client, bucket)
    assert world.run(INSIDE_S3)["status"] == "SUCCEEDED", reasons(world)
    assert REDIRECT.items() <= client.head_object(bucket, "out/a").headers.items()
    assert client.get_object_tagging(bucket, "out/a") == {"retain": "10y"}
    assert left(client, bucket) == set()


def test_a_redirect_that_the_copy_lacks_keeps_its_source(client: S3Client, needs: Needs) -> None:
    needs(Lack.REDIRECTS)
    bucket = new_bucket(client)
    client.put_object(bucket, "in/a", b"body", REDIRECT)
    client.put_object(bucket, "out/a", b"body")
    world = inside(client, bucket)
    world.run({**INSIDE_S3, "mode": "verify"})
    assert reasons(world) == {"a": Reason.METADATA_DIFFERS.value}


def test_without_the_right_to_read_tags_nothing_is_deleted(client: S3Client, proxy: S3Proxy, tmp_path: Path) -> None:
    """S3 leaves the number of tags out of its answers then, as if there were none."""
    bucket = new_bucket(client)
    for name in ("a", "b"):
        tag(client, bucket, f"in/{name}", "")
    proxy.choose = lambda head: "403 AccessDenied" if "tagging" in head.target else ""
    world = to_mount(client, bucket, tmp_path)
    world.run(FROM_S3)
    assert reasons(world) == dict.fromkeys("ab", Reason.SOURCE_DENIED.value)
    assert left(client, bucket) == {"a", "b"}
    assert world.next_run("run-2").run({**FROM_S3, "mode": "copy"})["status"] == "SUCCEEDED"
