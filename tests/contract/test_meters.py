"""Every meter: that of a test in memory, and AWS's as moto's EFS and CloudWatch answer; and what AWS answers wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest

from fanout.adapters.aws.meter import AwsMeter
from fanout.facts.units import MIB
from fanout.model.document import Json
from fanout.model.errors import AccessDenied, FanoutError, NotFound, Throttled, Transient, Unreachable
from fanout.model.file_system import (
    CREDITS,
    IO_LIMIT,
    LOOK_BACK_SECONDS,
    METERED,
    PERMITTED,
    Behind,
    Described,
    Reading,
    ThroughputMode,
)
from fanout.ports.aws import Meter
from tests.contract.conftest import REGION
from tests.contract.scripted_server import RESET, TRUNCATED, ScriptedServer, answer
from tests.support.memory_meter import MemoryMeter
from tests.support.s3_servers import KEY, S3Server

# A whole minute, as CloudWatch keeps them.
NOW = time.time() // 60 * 60
PROVISIONED = Described(ThroughputMode.PROVISIONED, "generalPurpose", False, 0, 0, 0, 64.0 * MIB)
Series = dict[str, Sequence[tuple[float, float]]]
MakeMeter = Callable[[Series], tuple[Meter, str]]


def in_memory(series: Series) -> tuple[Meter, str]:
    readings = {name: [Reading(NOW - age, value) for age, value in rows] for name, rows in series.items()}
    return MemoryMeter({"fs-1": PROVISIONED}, {"fs-1": readings}), "fs-1"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)


def aws_meter(url: str) -> AwsMeter:
    return AwsMeter(REGION, url, url)


@pytest.fixture(params=["memory", "aws"])
def make(request: pytest.FixtureRequest) -> MakeMeter:
    """Makes a file system with provisioned throughput and these metrics, each a list of ages and values."""
    if request.param == "memory":
        return in_memory
    server: S3Server = request.getfixturevalue("moto_server")

    def in_moto(series: Series) -> tuple[Meter, str]:
        session = boto3.Session(KEY, KEY, region_name=REGION)
        efs = session.client("efs", endpoint_url=server.url)
        token = f"{time.monotonic_ns()}"
        made = efs.create_file_system(
            CreationToken=token, ThroughputMode="provisioned", ProvisionedThroughputInMibps=64
        )
        file_system_id: str = made["FileSystemId"]
        metrics = session.client("cloudwatch", endpoint_url=server.url)
        for name, rows in series.items():
            for age, value in rows:
                datum = {
                    "MetricName": name,
                    "Dimensions": [{"Name": "FileSystemId", "Value": file_system_id}],
                    "Timestamp": datetime.fromtimestamp(NOW - age, UTC),
                    "Value": value,
                }
                metrics.put_metric_data(Namespace="AWS/EFS", MetricData=[datum])
        return aws_meter(server.url), file_system_id

    return in_moto


def test_it_describes_the_file_system(make: MakeMeter) -> None:
    meter, file_system_id = make({})
    assert meter.describe(file_system_id) == PROVISIONED


def test_a_file_system_that_is_not_there_is_not_found(make: MakeMeter) -> None:
    meter, _ = make({})
    with pytest.raises(NotFound):
        meter.describe("fs-00000000")


def test_metrics_without_a_value_are_left_out(make: MakeMeter) -> None:
    meter, file_system_id = make({})
    assert meter.readings(file_system_id, NOW) == {}


def test_metrics_come_with_their_times_and_not_from_before_the_look_back(make: MakeMeter) -> None:
    meter, file_system_id = make(
        {
            CREDITS: [(120, 5e11), (60, 4e11), (LOOK_BACK_SECONDS + 600, 9e11)],
            PERMITTED: [(60, 1e8)],
            METERED: [(180, 6e9)],
            IO_LIMIT: [(240, 12.5)],
        }
    )
    found = meter.readings(file_system_id, NOW)
    assert {name: sorted((NOW - row.at, row.value) for row in rows) for name, rows in found.items()} == {
        CREDITS: [(60, 4e11), (120, 5e11)],
        PERMITTED: [(60, 1e8)],
        METERED: [(180, 6e9)],
        IO_LIMIT: [(240, 12.5)],
    }


def test_metrics_of_another_file_system_are_not_its_own(make: MakeMeter) -> None:
    make({CREDITS: [(60, 4e11)]})
    meter, file_system_id = make({})
    assert meter.readings(file_system_id, NOW) == {}


DENIED = b'{"__type": "AccessDeniedException", "message": "not authorized"}'
THROTTLED = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
FAULTS = [
    (answer(403, DENIED), AccessDenied),
    (answer(400, DENIED), AccessDenied),
    (answer(429, b""), Throttled),
    (answer(400, THROTTLED), Throttled),
    (answer(503, b"busy"), Transient),
    (answer(200, b"neither JSON nor XML"), Transient),
    (answer(200, b"{}"), Transient),
    (answer(200, b"[1]"), Transient),
    (answer(200, b'{"FileSystems": [{"SizeInBytes": 5}], "MetricDataResults": ["x"]}'), Transient),
    (RESET, Unreachable),
]
CUT_OFF, CUT_OFF_IN_BOTO3 = (TRUNCATED, Unreachable), (TRUNCATED, Transient)


@pytest.mark.parametrize(("step", "error"), [*FAULTS, CUT_OFF])
def test_a_fault_of_efs_has_the_name_that_says_what_to_do(
    server: ScriptedServer, step: bytes, error: type[FanoutError]
) -> None:
    server.script = [step]
    with pytest.raises(error, match="elasticfilesystem:DescribeFileSystems on fs-1"):
        aws_meter(server.url).describe("fs-1")


@pytest.mark.parametrize(("step", "error"), [*FAULTS, CUT_OFF])
def test_a_fault_of_cloudwatch_has_it_too(server: ScriptedServer, step: bytes, error: type[FanoutError]) -> None:
    server.script = [step]
    with pytest.raises(error, match="cloudwatch:GetMetricData on fs-1"):
        aws_meter(server.url).readings("fs-1", NOW)


ACCESS_POINT = (
    "arn:aws:s3files:eu-west-1:111122223333:file-system/fs-0123456789abcdef0/access-point/fsap-0123456789abcdef0"
)
FILES = {"fileSystemId": "fs-0123456789abcdef0", "bucket": "arn:aws:s3:::a-bucket", "status": "available"}
POINT = {
    "accessPointArn": ACCESS_POINT,
    "accessPointId": "fsap-0123456789abcdef0",
    "clientToken": "t",
    "fileSystemId": "fs-0123456789abcdef0",
    "status": "available",
    "ownerId": "111122223333",
}


@pytest.mark.parametrize(
    ("prefix", "root", "shown"),
    [
        ({}, {}, ""),
        ({}, {"rootDirectory": {"path": "/"}}, ""),
        ({"prefix": "p/"}, {"rootDirectory": {"path": "/a/b"}}, "p/a/b/"),
        ({"prefix": "p/"}, {}, "p/"),
    ],
)
def test_s3_files_tells_the_place_that_an_access_point_shows(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, prefix: Json, root: Json, shown: str
) -> None:
    """boto3 reads the answers by the service's own model; which path and permission a request has is asked below."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3FILES", server.url)
    server.script = [answer(200, json.dumps(found).encode()) for found in (FILES | prefix, POINT | root)]
    assert aws_meter(server.url).shows(ACCESS_POINT) == Behind("a-bucket", shown)


@pytest.mark.parametrize(("step", "error"), [*FAULTS, CUT_OFF_IN_BOTO3])
def test_a_fault_of_s3_files_has_it_as_well(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, step: bytes, error: type[FanoutError]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3FILES", server.url)
    server.script = [step]
    with pytest.raises(error, match="s3files:GetFileSystem on arn:aws:s3files"):
        aws_meter(server.url).shows(ACCESS_POINT)


def test_a_boto3_that_is_older_than_s3_files_is_no_answer(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = aws_meter(server.url)
    unknown: Any = boto3.Session().client
    monkeypatch.setattr("fanout.adapters.aws.meter.client", lambda *_a, **_n: unknown("s3files-of-later", REGION))
    with pytest.raises(Transient, match="s3files:GetFileSystem"):
        meter.shows(ACCESS_POINT)
