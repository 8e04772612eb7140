"""Where a bucket is reached: the table of address forms."""

from __future__ import annotations

import json
from pathlib import Path

import botocore
import pytest

from fanout.adapters.aws.endpoint import Endpoint, locate, suffix_of
from fanout.model.errors import InvalidRequest


@pytest.mark.parametrize(
    ("endpoint", "bucket", "address"),
    [
        (Endpoint("eu-west-1"), "data", "https://data.s3.eu-west-1.amazonaws.com/"),
        (Endpoint("eu-west-1"), "data.old", "https://s3.eu-west-1.amazonaws.com/data.old/"),
        (Endpoint("us-east-1"), "Old_Name", "https://s3.us-east-1.amazonaws.com/Old_Name/"),
        (Endpoint("cn-north-1"), "data", "https://data.s3.cn-north-1.amazonaws.com.cn/"),
        (Endpoint("us-east-1", "http://127.0.0.1:9000/"), "data", "http://127.0.0.1:9000/data/"),
        (Endpoint("us-east-1", "http://[::1]:9000"), "data", "http://[::1]:9000/data/"),
        (Endpoint("us-east-1", "https://s3.example:443"), "data", "https://s3.example/data/"),
    ],
)
def test_address(endpoint: Endpoint, bucket: str, address: str) -> None:
    location = locate(endpoint, bucket)
    assert location.origin + location.root == address
    assert location.origin.partition("://")[2] == location.host


@pytest.mark.parametrize("bucket", ["", "ab", "a/b", "a b", "x" * 256, "a?b"])
def test_name_that_no_bucket_has(bucket: str) -> None:
    with pytest.raises(InvalidRequest):
        locate(Endpoint("eu-west-1"), bucket)


def test_the_hosts_of_each_partition_end_as_botocore_says() -> None:
    data = Path(botocore.__file__).parent / "data/partitions.json"
    regions = {
        region: partition["outputs"]["dnsSuffix"]
        for partition in json.loads(data.read_text(encoding="utf-8"))["partitions"]
        for region in partition["regions"]
        if "global" not in region
    }
    assert len(regions) > 30 and {"eusc-de-east-1", "cn-north-1", "us-gov-west-1"} <= regions.keys()
    assert {region: suffix_of(region) for region in regions} == regions
