"""A region becomes part of a host's name: a text that is none leads nowhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fanout.adapters.aws.endpoint import Endpoint, locate, suffix_of
from fanout.adapters.s3.client.reach import region_of
from fanout.ledger.documents import document_row
from fanout.model.errors import InvalidRequest, LedgerBroken
from tests.contract.scripted_server import ScriptedServer
from tests.support.flow import World

REGIONS = (
    *("us-east-1", "eu-central-2", "ap-southeast-7", "us-gov-west-1", "cn-northwest-1", "il-central-1"),
    *("us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1", "eusc-de-east-1", "mx-central-1", "ap-northeast-3"),
)
NONE = (
    *("evil.example/", "evil.example", "us-east-1.evil.example", "us-east-1/", "us-east-1@evil", "us-east-1:444"),
    *("", "EU", "us-east", "US-EAST-1", "us-east-1 ", "us-east-1\n", "us-east-1#", "us-east-1?", "..", "us-éast-1"),
    *("-us-east-1", "us--east-1", "us-east-1-", "us-east-1\\", "us-east-100", "a" * 300 + "-b-1"),
)


@pytest.mark.parametrize("region", REGIONS)
def test_a_region_is_a_host_of_aws(region: str) -> None:
    host = locate(Endpoint(region), "a-bucket").host
    assert host == f"a-bucket.s3.{region}.{suffix_of(region)}"


@pytest.mark.parametrize("region", NONE)
def test_a_text_that_is_not_a_region_is_not_a_host(region: str) -> None:
    with pytest.raises(InvalidRequest, match="is not the name of a region of AWS"):
        Endpoint(region)
    with pytest.raises(InvalidRequest):
        replace(Endpoint("eu-west-1"), region=region)


@pytest.mark.parametrize("region", ["evil.example/", "us-east-1.evil.example", "EU"])
def test_an_answer_that_is_not_a_region_is_refused(server: ScriptedServer, region: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nx-amz-bucket-region: {region}\r\nContent-Length: 0\r\n\r\n"
    server.script = [head.encode()]
    with pytest.raises(InvalidRequest, match="is not the name of a region of AWS"):
        region_of(Endpoint("us-east-1", server.url), "a-bucket")


@pytest.mark.parametrize("region", NONE)
def test_a_plan_with_another_text_is_not_read(region: str) -> None:
    world = World()
    world.walk("PlanTransfer", {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}, "CheckMount")
    plan = world.ledger.read_plan()
    world.ledger.write_json("plan.json", document_row(replace(plan, regions={"a-bucket": "eu-west-1"})))
    assert world.ledger.read_plan().regions == {"a-bucket": "eu-west-1"}
    world.ledger.write_json("plan.json", {**document_row(plan), "regions": {"a-bucket": region}})
    with pytest.raises(LedgerBroken, match=r"plan\.json is not whole"):
        world.ledger.read_plan()
