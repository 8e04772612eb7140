"""Reads what a plan asks of AWS, by a request each: the state of a file system, what S3 Files shows, concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanout.adapters.aws.control_plane import client, our_errors
from fanout.adapters.aws.signed_requests import Service
from fanout.facts.units import MIB
from fanout.model.errors import Unreachable
from fanout.model.file_system import (
    CREDITS,
    IO_LIMIT,
    LOOK_BACK_SECONDS,
    METERED,
    PERIOD_SECONDS,
    PERMITTED,
    Behind,
    Described,
    Reading,
    Readings,
    ThroughputMode,
)

# The cautious statistic of each minute: the least of credits and rates, the most of use.
_STATISTICS = {CREDITS: "Minimum", PERMITTED: "Minimum", IO_LIMIT: "Maximum", METERED: "Sum"}
# The operation in CloudWatch's protocol JSON 1.0 (its model's targetPrefix).
_GET_METRIC_DATA = "GraniteServiceVersion20100801.GetMetricData"
# Chosen: a plan does not wait long for figures that it can do without.
_ATTEMPTS = 1


class AwsMeter:
    """A ``ports.aws.Meter`` over EFS, S3 Files and CloudWatch.

    Needs elasticfilesystem:DescribeFileSystems and cloudwatch:GetMetricData; for S3 Files s3files:GetFileSystem and
    s3files:GetAccessPoint.
    """

    def __init__(self, region: str, efs_url: str = "", metrics_url: str = "") -> None:
        self._region = region
        self._efs = Service("elasticfilesystem", region, efs_url)
        self._metrics = Service("monitoring", region, metrics_url)

    def describe(self, file_system_id: str) -> Described:
        return self._efs.get(
            "elasticfilesystem:DescribeFileSystems",
            file_system_id,
            "/2015-02-01/file-systems",
            {"FileSystemId": file_system_id},
            _described,
        )

    def readings(self, file_system_id: str, now: float) -> Readings:
        asked = {
            "MetricDataQueries": [_query(name, file_system_id) for name in _STATISTICS],
            "StartTime": int(now - LOOK_BACK_SECONDS),
            "EndTime": int(now + PERIOD_SECONDS),
            "ScanBy": "TimestampDescending",
        }
        return self._metrics.post("cloudwatch:GetMetricData", file_system_id, _GET_METRIC_DATA, asked, _readings)

    def shows(self, access_point: str) -> Behind:
        with our_errors("s3files:GetFileSystem", file_system_of(access_point), lost=Unreachable):
            files = client("s3files", self._region, attempts=_ATTEMPTS)
        return behind(files, access_point)


def _described(answer: Any) -> Described:
    (found,) = answer["FileSystems"]
    size = found["SizeInBytes"]
    return Described(
        mode=ThroughputMode(found.get("ThroughputMode", "bursting")),
        performance_mode=found["PerformanceMode"],
        one_zone=bool(found.get("AvailabilityZoneName")),
        standard_bytes=size.get("ValueInStandard", size["Value"]),
        infrequent_bytes=size.get("ValueInIA", 0),
        archive_bytes=size.get("ValueInArchive", 0),
        provisioned_bytes_per_second=(found.get("ProvisionedThroughputInMibps") or 0) * MIB,
    )


def _query(name: str, file_system_id: str) -> dict[str, Any]:
    """A series of minutes of a metric."""
    dimensions = [{"Name": "FileSystemId", "Value": file_system_id}]
    metric = {"Namespace": "AWS/EFS", "MetricName": name, "Dimensions": dimensions}
    return {"Id": _id(name), "MetricStat": {"Metric": metric, "Period": PERIOD_SECONDS, "Stat": _STATISTICS[name]}}


def _id(name: str) -> str:
    """The id of a query begins with a small letter."""
    return name[0].lower() + name[1:]


def _readings(answer: Any) -> Readings:
    names = {_id(name): name for name in _STATISTICS}
    return {names[series["Id"]]: _rows(series) for series in answer["MetricDataResults"] if series["Values"]}


def _rows(series: Mapping[str, Any]) -> list[Reading]:
    pairs = zip(series["Timestamps"], series["Values"], strict=True)
    return [Reading(float(at), float(value)) for at, value in pairs]


def file_system_of(access_point: str) -> str:
    """The ARN of the file system of an access point, by its own."""
    return access_point.partition("/access-point/")[0]


def behind(files: Any, access_point: str) -> Behind:
    """The place in S3 that an access point shows. Needs s3files:GetFileSystem and s3files:GetAccessPoint."""
    file_system = file_system_of(access_point)
    with our_errors("s3files:GetFileSystem", file_system, lost=Unreachable):
        found = files.get_file_system(fileSystemId=file_system)
        bucket = found["bucket"].rpartition(":::")[2]
    with our_errors("s3files:GetAccessPoint", access_point, lost=Unreachable):
        root = files.get_access_point(accessPointId=access_point).get("rootDirectory", {}).get("path", "/")
        below = root.strip("/")
        return Behind(bucket, found.get("prefix", "") + (f"{below}/" if below else ""))


class LambdaAccount:
    """The limits of Lambda in an account, as ``ports.pacing.Account``; needs lambda:GetAccountSettings."""

    def __init__(self, region: str, url: str = "") -> None:
        self._lambda = Service("lambda", region, url)

    def unreserved_concurrency(self) -> int:
        return self._lambda.get(
            "lambda:GetAccountSettings",
            "the account",
            "/2016-08-19/account-settings",
            {},
            lambda found: int(found["AccountLimit"]["UnreservedConcurrentExecutions"]),
        )
