"""Where a bucket is reached: the table of address forms."""

from __future__ import annotations

import pytest

from fanout.adapters.aws.endpoint import Endpoint, locate
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
