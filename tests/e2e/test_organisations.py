"""A stack as an organisation's policies want it: a customer's key for all that it keeps, every function in the network.

The emulator forgets the key of a bucket or function, and the network of a function: tests/template holds those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
KEY = "arn:aws:kms:us-east-1:000000000000:key/11111111-2222-3333-4444-555555555555"
PARAMETERS = {"EncryptionKeyArn": KEY, "AllFunctionsInVpc": "true"}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The stack, with one mount."""
    mount = tmp_path_factory.mktemp("mount")
    paths = LocalPaths.find(state=tmp_path_factory.mktemp("state"))
    with LocalStack(paths, find_toolchain(paths.repo), {"data": mount}, parameters=PARAMETERS) as stack:
        yield stack


def test_the_log_groups_have_the_key(strict: LocalStack) -> None:
    groups = strict.clients.client("logs").describe_log_groups(logGroupNamePrefix="/fanout/")["logGroups"]
    assert groups and {group.get("kmsKeyId") for group in groups} == {KEY}


def test_the_network_has_an_endpoint_of_every_service_that_is_called(strict: LocalStack) -> None:
    endpoints = strict.clients.client("ec2").describe_vpc_endpoints()["VpcEndpoints"]
    kinds = {(one["ServiceName"].rpartition(".")[2], one["VpcEndpointType"]) for one in endpoints}
    services = ("states", "elasticfilesystem", "monitoring", "lambda", "kms")
    assert kinds == {("s3", "Gateway"), *((service, "Interface") for service in services)}


def test_a_transfer_succeeds(strict: LocalStack) -> None:
    s3 = strict.clients.s3
    s3.create_bucket(Bucket="organised")
    s3.put_object(Bucket="organised", Key="in/file", Body=b"x")
    request = {"source": "s3://organised/in/", "destination": "efs:///copy"}
    assert strict.wait(strict.start_execution(request, "strict-1"))["status"] == "SUCCEEDED"
    key = "runs/strict-1/summary.json"
    summary = json.loads(s3.get_object(Bucket=strict.work_bucket, Key=key)["Body"].read())
    # The account was asked, and has room for all functions.
    assert [note for note in summary["notes"] if "how many functions" in note or "max_concurrency" in note] == []
