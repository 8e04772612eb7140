"""The bytes that a verification reads of a bucket, over our own client: none of a tree that we wrote."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.aws.credentials import Credentials
from fanout.adapters.aws.endpoint import Endpoint
from fanout.adapters.http.transport import Response
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.requests import Call
from fanout.adapters.s3.copier import S3EntryCopier
from fanout.adapters.s3.tree import S3Tree
from fanout.facts.tuning import BLOCK_BYTES
from fanout.model.checksum import ALGORITHMS, RunningSums
from fanout.model.location import S3Location
from tests.contract.conftest import REGION, new_bucket
from tests.support.flow import World
from tests.support.s3_servers import KEY, S3Server

FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
INSIDE_S3 = {"source": "s3://a-bucket/out/", "destination": "s3://a-bucket/more/"}
CUT = {"limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}}


class Counting(S3Client):
    """A client that counts what it asks for, and whose server says of which bytes a checksum is, as S3 does."""

    def __init__(self, url: str) -> None:
        super().__init__(Endpoint(REGION, url), lambda: Credentials(KEY, KEY), sleep=lambda seconds: None)
        self.asked: Counter[str] = Counter()
        self.read_bytes = 0
        self.kind = "FULL_OBJECT"

    def request(self, operation: str, *args: Any, **options: Any) -> Call:
        self.asked[operation] += 1
        self.read_bytes += options.get("body_bytes", 0)
        return super().request(operation, *args, **options)

    def head_object(self, bucket: str, key: str, *, if_match: str = "") -> Response:
        found = super().head_object(bucket, key, if_match=if_match)
        found.headers.setdefault("x-amz-checksum-type", self.kind)
        return found


@pytest.fixture
def client(moto_server: S3Server) -> Counting:
    return Counting(moto_server.url)


def test_a_tree_that_we_wrote(client: Counting, tmp_path: Path) -> None:
    (tmp_path / "in/d").mkdir(parents=True)
    (tmp_path / "in/d/big").write_bytes(os.urandom(2 * BLOCK_BYTES + 5))
    (tmp_path / "in/d/small").write_bytes(b"small")
    (tmp_path / "in/d/none").write_bytes(b"")
    bucket = new_bucket(client)
    source, there = PosixTree(tmp_path, "in", "run-1", "s", "source"), S3Tree(client, bucket, "out/")
    copied = World(source=source, destination=there)
    for number, request in enumerate([{"verify": "copied"}, {"verify": "all"}, {"mode": "verify"}]):
        client.asked.clear()
        summary = copied.next_run(f"run-{number + 2}").run(TO_S3 | CUT | request)
        assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
        assert client.read_bytes == 0
        assert client.asked["HeadObject"] >= 3
    more = S3Tree(client, bucket, "more/")
    ends = S3Location(bucket, "out/"), S3Location(bucket, "more/")
    inside = World(source=there, destination=more, copier=S3EntryCopier(client, *ends))
    assert inside.run(INSIDE_S3 | {"verify": "all"})["status"] == "SUCCEEDED"
    assert client.read_bytes == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_object_of_others_with_a_checksum_of_any_algorithm(client: Counting, tmp_path: Path, name: str) -> None:
    bucket, body = new_bucket(client), os.urandom(70_000)
    sums = RunningSums([name])
    sums.update(body)
    header = f"x-amz-checksum-{name.lower()}"
    client.put_object(bucket, "in/f", body, {"x-amz-sdk-checksum-algorithm": name, header: sums.whole()[name]})
    (tmp_path / "f").write_bytes(body)
    for number, (kind, reads) in enumerate([("FULL_OBJECT", 0), ("COMPOSITE", 70_000)]):
        client.kind, client.read_bytes = kind, 0
        world = World(source=S3Tree(client, bucket, "in/"), destination=PosixTree(tmp_path, "", "run-1", "n"))
        request = FROM_S3 | {"mode": "verify", "verify": "content"}
        assert world.next_run(f"run-{number}").run(request)["status"] == "SUCCEEDED"
        assert client.read_bytes == reads
