"""The console's launch address of a release; tests/e2e/test_release.py packages one."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from scripts.package_release import launch_address


@pytest.mark.parametrize(
    ("region", "host", "template"),
    [
        ("eu-west-1", "eu-west-1.console.aws.amazon.com", "https://s3.eu-west-1.amazonaws.com/b/k/t.yaml"),
        ("cn-north-1", "cn-north-1.console.amazonaws.cn", "https://s3.cn-north-1.amazonaws.com.cn/b/k/t.yaml"),
    ],
)
def test_the_address_is_that_of_the_partition(region: str, host: str, template: str) -> None:
    found = urlsplit(launch_address("b", "k/t.yaml", region))
    assert found.netloc == host
    assert parse_qs(found.fragment.partition("?")[2]) == {"templateURL": [template], "stackName": ["fanout"]}
