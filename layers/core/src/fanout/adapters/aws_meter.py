"""EFS and CloudWatch asked about a file system: two requests, signed and sent as those to S3 are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from msgspec import Struct

from fanout.adapters.s3.connection import ConnectionBroken, Timeouts
from fanout.adapters.s3.credentials import CredentialsProvider, credentials_from_environment
from fanout.adapters.s3.sigv4 import Signer, encode_query
from fanout.adapters.s3.transport import Response, Transport
from fanout.domain.efs_model import ThroughputMode
from fanout.domain.errors import AccessDenied, NotFound, Throttled, Transient, Unreachable
from fanout.domain.limits import MIB
from fanout.domain.measurement import (
    CREDITS,
    IO_LIMIT,
    LOOK_BACK_SECONDS,
    METERED,
    PERIOD_SECONDS,
    PERMITTED,
    Described,
    Reading,
    Readings,
)

# Of credits and rate the least of a minute, of use the most: what errs towards the file system.
_STATISTICS = {CREDITS: "Minimum", PERMITTED: "Minimum", IO_LIMIT: "Maximum", METERED: "Sum"}
_CLOUDWATCH = "{http://monitoring.amazonaws.com/doc/2010-08-01/}"
# Chosen: a plan does not wait long for figures that it can do without.
_TIMEOUTS = Timeouts(connect_seconds=3, stall_seconds=5, total_seconds=10)


class Services(Struct, frozen=True):
    """The region, and where its EFS and CloudWatch are, empty for AWS's own endpoints."""

    region: str
    efs_url: str = ""
    metrics_url: str = ""

    def url(self, service: str) -> str:
        """The endpoint of ``elasticfilesystem`` or ``monitoring``: scheme, host and port."""
        given = self.efs_url if service == "elasticfilesystem" else self.metrics_url
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return given.rstrip("/") or f"https://{service}.{self.region}.{suffix}"


class AwsMeter:
    """See ``fanout.ports.Meter``; needs elasticfilesystem:DescribeFileSystems and cloudwatch:GetMetricData."""

    def __init__(
        self,
        services: Services,
        now: Callable[[], float],
        credentials: CredentialsProvider = credentials_from_environment,
    ) -> None:
        self._services, self._now, self._credentials = services, now, credentials
        self._transport = Transport(_TIMEOUTS)

    def describe(self, file_system_id: str) -> Described:
        """See ``fanout.ports.Meter``."""
        query = encode_query([("FileSystemId", file_system_id)])
        operation = "elasticfilesystem:DescribeFileSystems"
        answer = self._ask("elasticfilesystem", operation, file_system_id, "GET", "/2015-02-01/file-systems", query)
        try:
            (found,) = json.loads(answer.body)["FileSystems"]
            return _described(found)
        except (ValueError, KeyError, TypeError) as exc:
            raise Transient(f"{operation} on {file_system_id}: the answer can not be read ({exc!r})") from exc

    def readings(self, file_system_id: str, now: float) -> Readings:
        """See ``fanout.ports.Meter``."""
        body = encode_query(_metric_form(file_system_id, now)).encode()
        operation = "cloudwatch:GetMetricData"
        answer = self._ask("monitoring", operation, file_system_id, "POST", "/", "", body)
        try:
            return _readings(answer.body)
        except (ElementTree.ParseError, ValueError) as exc:
            raise Transient(f"{operation} on {file_system_id}: the answer can not be read ({exc!r})") from exc

    def _ask(
        self, service: str, operation: str, target: str, method: str, path: str, query: str, body: bytes | None = None
    ) -> Response:
        url = self._services.url(service)
        headers = {} if body is None else {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        signed = Signer(self._services.region, service).sign(
            method,
            urlsplit(url).netloc,
            path,
            query,
            headers,
            self._credentials(),
            self._now(),
            sha256(body or b"").hexdigest(),
        )
        try:
            answer = self._transport.exchange(method, f"{url}{path}{'?' if query else ''}{query}", signed, body)
        except ConnectionBroken as exc:
            raise Unreachable(f"{operation} on {target}: {url} does not answer ({exc})") from exc
        _check(answer, operation, target)
        return answer


def _check(answer: Response, operation: str, target: str) -> None:
    """Raise the error of an answer that is none."""
    if answer.status == 200:
        return
    said = f"{operation} on {target}: status {answer.status}, {answer.body[:200].decode(errors='replace')}"
    if answer.status == 429 or b"Throttling" in answer.body or b"RequestLimitExceeded" in answer.body:
        raise Throttled(said)
    if answer.status in (401, 403) or b"AccessDenied" in answer.body:
        raise AccessDenied(operation, target, "allow it in the role of PlanTransfer")
    if answer.status == 404:
        raise NotFound(said)
    raise Transient(said)


def _described(found: Mapping[str, Any]) -> Described:
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


def _metric_form(file_system_id: str, now: float) -> list[tuple[str, str]]:
    """GetMetricData of the query protocol: a series of minutes for each metric."""
    form = [
        ("Action", "GetMetricData"),
        ("Version", "2010-08-01"),
        ("StartTime", _time(now - LOOK_BACK_SECONDS)),
        ("EndTime", _time(now + PERIOD_SECONDS)),
        ("ScanBy", "TimestampDescending"),
    ]
    for number, (name, statistic) in zip(count(1), _STATISTICS.items(), strict=False):
        query = f"MetricDataQueries.member.{number}"
        metric = f"{query}.MetricStat.Metric"
        form += [
            (f"{query}.Id", _id(name)),
            (f"{metric}.Namespace", "AWS/EFS"),
            (f"{metric}.MetricName", name),
            (f"{metric}.Dimensions.member.1.Name", "FileSystemId"),
            (f"{metric}.Dimensions.member.1.Value", file_system_id),
            (f"{query}.MetricStat.Period", str(PERIOD_SECONDS)),
            (f"{query}.MetricStat.Stat", statistic),
        ]
    return form


def _id(name: str) -> str:
    """The id of a query begins with a small letter."""
    return name[0].lower() + name[1:]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _readings(body: bytes) -> dict[str, list[Reading]]:
    """The series that hold a value, by metric."""
    names = {_id(name): name for name in _STATISTICS}
    found: dict[str, list[Reading]] = {}
    for result in ElementTree.fromstring(body).iter(f"{_CLOUDWATCH}MetricDataResults"):
        for series in result.findall(f"{_CLOUDWATCH}member"):
            times = [time.text or "" for time in series.iterfind(f"{_CLOUDWATCH}Timestamps/{_CLOUDWATCH}member")]
            values = [value.text or "" for value in series.iterfind(f"{_CLOUDWATCH}Values/{_CLOUDWATCH}member")]
            rows = [Reading(_seconds(time), float(value)) for time, value in zip(times, values, strict=True)]
            if rows:
                found[names[series.findtext(f"{_CLOUDWATCH}Id", "")]] = rows
    return found


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).replace(tzinfo=UTC).timestamp()
