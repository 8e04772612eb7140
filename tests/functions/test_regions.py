"""Buckets of other regions, through the handlers: the matrix, each cell green or refused by name.

The S3 here takes every signature. So each request to a bucket must be signed for its region, and none may come from a
network that has no way to it; a copy into another region may come from no network at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest

from fanout.adapters.s3.copier import S3EntryCopier
from fanout.runtime import ends as runtime_ends
from tests.functions.cells import fill, held, remove, runs_or_is_refused
from tests.support.handler_flow import HandlerFlow
from tests.support.http import Head
from tests.support.lying_s3 import operation_of
from tests.support.wire import SOURCE, TARGET, Wire

HOME = "us-east-1"
REGIONS = {"near": SOURCE, "near-too": TARGET, "far": "far-bucket", "farther": "farther-bucket"}
IN_REGION = {"far-bucket": "eu-west-1", "farther-bucket": "ap-south-1"}
FILES = {"a": b"a", "d/b": b"bb", "big": b"b" * 5_500_000}
ENDS = {**{name: f"s3://{bucket}/{{}}/" for name, bucket in REGIONS.items()}, "mount": "efs:///{}"}
REFUSED = {
    "no region": "reaches no other region and assumes no role (WayOut=none)",
    "buckets": "reaches other regions and roles from buckets alone (WayOut=buckets)",
}
CELLS = [
    *((way, *ends, "") for way in ("none", "buckets", "mounts") for ends in (("near", "near-too"), ("near", "mount"))),
    *(("none", *ends, "no region") for ends in (("far", "near"), ("near", "far"), ("far", "farther"))),
    *(("none", *ends, "no region") for ends in (("far", "mount"), ("mount", "far"))),
    *(("buckets", *ends, "") for ends in (("far", "near"), ("near", "far"), ("far", "farther"))),
    *(("buckets", *ends, "buckets") for ends in (("far", "mount"), ("mount", "far"))),
    *(("mounts", *ends, "") for ends in (("far", "near"), ("near", "far"), ("far", "farther"))),
    *(("mounts", *ends, "") for ends in (("far", "mount"), ("mount", "far"))),
]


def bucket_of(head: Head) -> str:
    """The bucket that a request names."""
    return head.target.split("/")[1].partition("?")[0]


WAY = {"out": ""}
"""What the stack at hand is deployed with."""


@pytest.fixture
def far(wire: Wire, s3: Any, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """Buckets in three regions, and an S3 that refuses what S3 would."""
    monkeypatch.setenv("FANOUT_WAY_OUT", "buckets")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SFN", s3_url)
    for bucket, region in IN_REGION.items():
        client: Any = boto3.client("s3", endpoint_url=s3_url, region_name=region)
        client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": region})

    def judge(head: Head) -> str:
        wire.keep(head)
        bucket, signed = bucket_of(head), head.headers.get("authorization", "")
        region = IN_REGION.get(bucket, HOME)
        if not signed:
            return ""
        if f"/{region}/s3/aws4_request" not in signed:
            return "400 AuthorizationHeaderMalformed"
        copied = head.headers.get("x-amz-copy-source", "").lstrip("/").partition("/")[0]
        leaves = copied and IN_REGION.get(copied, HOME) != region
        reached = HandlerFlow.in_network is False or (WAY["out"] == "mounts" and not leaves)
        return "" if reached or not (leaves or region != HOME) else "403 AccessDenied"

    WAY["out"] = "buckets"
    wire.proxy.choose = judge
    yield wire
    for bucket in IN_REGION:
        remove(s3, bucket)


@pytest.mark.parametrize(("way", "source", "destination", "refused"), CELLS, ids="-".join)
def test_a_cell_is_green_or_refused_by_name(
    far: Wire,
    s3: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    source: str,
    destination: str,
    refused: str,
) -> None:
    monkeypatch.setenv("FANOUT_WAY_OUT", way)
    WAY["out"] = way
    monkeypatch.setattr(
        runtime_ends, "S3EntryCopier", partial(S3EntryCopier, whole_bytes=1_000_000, part_bytes=5 << 20)
    )
    fill(s3, tmp_path / "data" if source == "mount" else REGIONS[source], FILES)
    request = {"source": ENDS[source].format("in"), "destination": ENDS[destination].format("out"), "verify": "all"}
    if not runs_or_is_refused(far, request, REFUSED.get(refused, ""), ("source", "destination")):
        return
    plan = json.loads(s3.get_object(Bucket="work-bucket", Key="runs/cell/plan.json")["Body"].read())
    ends = {REGIONS[one] for one in (source, destination) if one in REGIONS}
    assert plan.get("regions", {}) == {one: IN_REGION[one] for one in ends if one in IN_REGION}
    if destination == "mount":
        assert {name: (tmp_path / "data/out" / name).read_bytes() for name in FILES} == FILES
    else:
        found = held(s3, REGIONS[destination])
        assert {name: data for name, data in found.items() if not name.endswith("/")} == FILES


@pytest.mark.parametrize("mode", ["sync", "move", "verify", "plan"])
def test_every_mode_works_between_two_far_buckets(far: Wire, s3: Any, mode: str) -> None:
    fill(s3, "far-bucket", FILES)
    before = {"a": b"earlier", "extra": b"x"}
    for name, data in before.items():
        s3.put_object(Bucket="farther-bucket", Key=f"out/{name}", Body=data)
    request = {"source": "s3://far-bucket/in/", "destination": "s3://farther-bucket/out/", "mode": mode}
    guard = {"delete_guard": {"max_percent": 100.0}} if mode == "sync" else {}
    found = far.flow.run(mode, {**request, **guard})
    expected = {"sync": FILES, "move": {**before, **FILES}}.get(mode, before)
    assert held(s3, "farther-bucket") == expected
    assert held(s3, "far-bucket", "in/") == ({} if mode == "move" else FILES)
    assert (found["status"] == "SUCCEEDED") == (mode != "verify")
    assert not [one for one in far.of("far-bucket") if "x-amz-copy-source" in one.headers]


def test_a_manifest_of_another_region_is_read_there(far: Wire, s3: Any) -> None:
    fill(s3, "far-bucket", FILES)
    s3.put_object(Bucket="farther-bucket", Key="list.csv", Body=b"d/b\n")
    request = {"source": "s3://far-bucket/in/", "destination": f"s3://{TARGET}/out/"}
    far.flow.run("listed", {**request, "manifest": "s3://farther-bucket/list.csv"})
    assert held(s3, TARGET) == {"d/b": b"bb"}
    assert "GetObject" in {operation_of(one) for one in far.of("farther-bucket")}


def test_a_region_is_asked_without_credentials_and_its_run_takes_no_function_in_a_network(far: Wire, s3: Any) -> None:
    fill(s3, "far-bucket", FILES)
    answer = far.flow.plan("asked", {"source": "s3://far-bucket/in/", "destination": f"s3://{TARGET}/out/"})
    asked = [one for one in far.heads if bucket_of(one) == "far-bucket" and one.method == "HEAD"]
    assert asked and not any("authorization" in one.headers for one in asked)
    assert {name.startswith("Outside") for name in answer["run"]["functions"].values()} == {True}
