"""Attributes and metadata compared over the real adapters: a directory, and objects as moto's server holds them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.tree import S3Tree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.location import S3Location
from fanout.ports.tree import Tree
from tests.contract.conftest import client_of, new_bucket
from tests.contract.tree_use import write
from tests.support.flow import World
from tests.support.s3_servers import S3Server

TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}
INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://a-bucket/out/"}
NS = 1_700_000_000_123_456_789


@pytest.fixture
def client(moto_server: S3Server) -> S3Client:
    return client_of(moto_server)


def filled(root: Path) -> None:
    (root / "d/empty").mkdir(parents=True)
    (root / "d/f").write_text("content")
    (root / "d/f").chmod(0o640)
    (root / "link").symlink_to("d/f")
    for number, name in enumerate(["d/f", "link", "d/empty", "d"]):
        os.utime(root / name, ns=(NS, NS + number), follow_symlinks=False)


def failures(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


def verified(world: World, run_id: str, request: Json) -> dict[str, str]:
    following = world.next_run(run_id)
    following.run(request | {"mode": "verify"})
    return failures(following)


def with_headers(client: S3Client, bucket: str, key: str, body: bytes, changed: dict[str, str]) -> None:
    """Put the object again with other headers."""
    found = client.head_object(bucket, key).headers
    kept = {name: value for name, value in found.items() if name.startswith("x-amz-meta-") or name == "content-type"}
    client.put_object(bucket, key, body, {**kept, **changed})


CHANGES = [
    ("x-amz-meta-file-permissions", "0100600", "mode differs"),
    ("x-amz-meta-file-group", "99", "owner differs"),
    ("x-amz-meta-file-mtime", "5ns", "mtime differs"),
    ("cache-control", "no-store", ""),
]


def test_a_mount_and_a_bucket_and_back(client: S3Client, tmp_path: Path) -> None:
    filled(tmp_path / "in")
    bucket = new_bucket(client)
    source = PosixTree(tmp_path, "in", "run-1", "s", "source")
    there = World(source=source, destination=S3Tree(client, bucket, "out/"))
    assert there.run(TO_S3 | {"verify": "all"})["status"] == "SUCCEEDED", failures(there)
    for number, (header, value, reason) in enumerate(CHANGES):
        client.put_object(bucket, "other/key", b"x")
        with_headers(client, bucket, "out/d/f", b"content", {header: value})
        expected = {"d/f": reason} if reason else {}
        assert verified(there, f"run-file-{number}", TO_S3) == expected
        assert verified(there, f"run-content-{number}", TO_S3 | {"verify": "content"}) == {}
        assert there.next_run(f"run-copy-{number}").run(TO_S3 | {"compare": "always"})["status"] == "SUCCEEDED"
    with_headers(client, bucket, "out/d/", b"", {"x-amz-meta-file-permissions": "0040700"})
    assert verified(there, "run-directory", TO_S3) == {"d/": "mode differs"}
    with_headers(client, bucket, "out/link", b"d/f", {"x-amz-meta-file-permissions": "0100777"})
    assert verified(there, "run-kind", TO_S3)["link"] == "size or kind differs"
    client.put_object(bucket, "out/plain", b"plain")
    back = World(
        source=S3Tree(client, bucket, "out/"), destination=PosixTree(tmp_path, "out", "run-1", "d"), run_id="back-1"
    )
    summary = back.run(FROM_S3 | {"verify": "all"})
    assert summary["status"] == "SUCCEEDED", failures(back)
    left_out = {one["what"]: one["entries"] for one in summary["verification"]["not_compared"]}
    assert left_out["attributes"] == 1
    (tmp_path / "out/d/f").chmod(0o600)
    assert verified(back, "back-2", FROM_S3) == {"d/f": "mode differs"}


def test_inside_s3_all_that_a_copy_carries_is_compared(client: S3Client) -> None:
    bucket = new_bucket(client)
    ends = [S3Location(bucket, prefix) for prefix in ("in/", "out/")]
    headers = {"content-type": "text/x", "cache-control": "max-age=1", "x-amz-meta-colour": "red"}
    headers["expires"] = "Thu, 01 Dec 2033 16:00:00 GMT"
    client.put_object(bucket, "in/f", b"content", headers | {"x-amz-meta-file-owner": "1"})
    client.put_object(bucket, "in/d/", b"", headers)
    client.put_object(bucket, "in/plain", b"plain")
    trees: list[Any] = [S3Tree(client, bucket, end.prefix) for end in ends]
    world = World(source=trees[0], destination=trees[1], copier=S3EntryCopier(client, ends[0], ends[1]))
    summary = world.run(INSIDE_S3 | {"verify": "all"})
    assert summary["status"] == "SUCCEEDED", failures(world)
    assert summary["verification"]["not_compared"][0]["what"] == "tags"
    for number, (header, value) in enumerate(
        [("x-amz-meta-file-owner", "2"), ("x-amz-meta-colour", "blue"), ("content-type", "a/b"), ("expires", "")]
    ):
        client.put_object(bucket, "out/f", b"content", {**headers, "x-amz-meta-file-owner": "1", header: value})
        assert verified(world, f"changed-{number}", INSIDE_S3) == {"f": "metadata differs"}, header
        assert verified(world, f"content-{number}", INSIDE_S3 | {"verify": "content"}) == {}


def test_what_stands_at_a_path_tells_its_attributes_or_leaves_them_to_open(tree: Tree) -> None:
    attributes = Attributes(0o100640, 1, 2, NS, NS)
    write(tree, "f", b"content", attributes)
    found = tree.find_stored("f")
    assert found is not None
    opened = tree.open(found.entry)
    told = found.attributes or opened.attributes
    assert (told.mode, told.mtime_ns) == (opened.attributes.mode, opened.attributes.mtime_ns) == (0o100640, NS)
    opened.close()
    tree.make_directory(Entry("d/", Kind.DIRECTORY), Attributes(0o040755))
    directory = tree.find_stored("d/")
    assert directory is not None
    source = tree.open(directory.entry)
    told, asked = directory.attributes or source.attributes, source.attributes
    assert (told.mode, told.uid, told.gid, told.headers) == (asked.mode, asked.uid, asked.gid, asked.headers)
    source.close()
