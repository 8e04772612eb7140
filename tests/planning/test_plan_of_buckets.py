"""What S3 says of a bucket at the plan names the field of the request that named it."""

from __future__ import annotations

import pytest

from fanout.model.errors import InvalidRequest
from fanout.ports.aws import ObjectFound
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryObjects

ELSEWHERE = InvalidRequest("bucket", "b is in region eu-west-1, not us-east-1", "start again")
REQUEST = {"source": "s3://a-bucket/in/", "destination": "s3://b-bucket/out/"}


class Elsewhere(MemoryTree):
    """A tree in a bucket of another region."""

    def check(self, *, writing: bool) -> None:
        raise ELSEWHERE


class ElsewhereToo(MemoryObjects):
    """The objects of such a bucket."""

    def find(self, bucket: str, key: str) -> ObjectFound:
        raise ELSEWHERE


@pytest.mark.parametrize("field", ["source", "destination", "manifest"])
def test_a_bucket_of_another_region_is_refused_with_its_field(field: str) -> None:
    trees = {"source": MemoryTree(), "destination": MemoryTree()} | {field: Elsewhere()}
    world = World(source=trees["source"], destination=trees["destination"])
    request = dict(REQUEST)
    if field == "manifest":
        world.objects = ElsewhereToo()
        request["manifest"] = "s3://a-bucket/list.csv"
    with pytest.raises(
        InvalidRequest, match=f"{field}: b is in region eu-west-1, not us-east-1; start again"
    ) as caught:
        world.plan(request)
    assert caught.value.field == field
