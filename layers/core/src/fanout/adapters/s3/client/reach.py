"""Finds out within seconds whether S3 can be reached at all, and in which region a bucket is.

Without a gateway endpoint a function in a VPC has no route to S3. A connection is not refused but never made. With
retries on every level a run would hang for many minutes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from fanout.adapters.aws.endpoint import Endpoint, check_region, locate
from fanout.adapters.http.transport import ConnectionBroken, Response, Timeouts, Transport
from fanout.adapters.s3.client.faults import Fault
from fanout.model.errors import Transient, Unreachable

CONNECT_SECONDS = 4.0
ATTEMPTS = 2
REMEDY = (
    "add a gateway endpoint for S3 to the route table of the functions' subnets (`fanout doctor` says which), "
    "and let their security group out to port 443"
)


def reach(
    endpoint: Endpoint, bucket: str, *, connect_seconds: float = CONNECT_SECONDS, attempts: int = ATTEMPTS
) -> float:
    """The seconds that an answer to a head takes, asked for unsigned at the bucket's address.

    Any answer of an S3 will do. Raises ``Unreachable`` with the remedy if no attempt brings one.
    """
    began = time.monotonic()
    _head(endpoint, bucket, connect_seconds, attempts)
    return time.monotonic() - began


def region_of(endpoint: Endpoint, bucket: str) -> str:
    """The region of a bucket; empty where the S3 does not say, as of a bucket that does not exist.

    S3 says it to everybody, also where it denies or redirects (AmazonS3/latest/API/API_HeadBucket.html).
    Raises ``Unreachable`` in seconds where no S3 answers, ``Transient`` where it has no time to say, and
    ``InvalidRequest`` for an answer that is not a region.
    """
    found = _head(endpoint, bucket, CONNECT_SECONDS, ATTEMPTS)
    region = found.headers.get("x-amz-bucket-region", "")
    if not region and Fault(found.status, "").passing:
        raise Transient(f"HeadBucket on s3://{bucket}: {found.status}, without its region")
    return check_region(region) if region else ""


def _head(endpoint: Endpoint, bucket: str, connect_seconds: float, attempts: int) -> Response:
    location = locate(endpoint, bucket)
    stall_seconds = max(1, round(connect_seconds))
    transport = Transport(Timeouts(connect_seconds, stall_seconds, connect_seconds + stall_seconds / 4))
    for attempt in range(attempts):
        try:
            found = transport.ask("HEAD", location.origin + location.root, {}, None)
        except ConnectionBroken as error:
            if error.remedy or attempt == attempts - 1:
                raise Unreachable(f"S3 cannot be reached from here ({error}); {error.remedy or REMEDY}") from error
        else:
            if _is_a_web_page(found.headers):
                said = f"{location.host} answers {found.status} with a page in HTML"
                raise Unreachable(f"S3 cannot be reached from here ({said}); name the address of an S3")
            return found
    raise AssertionError("no attempt was made")


def _is_a_web_page(headers: Mapping[str, str]) -> bool:
    is_html = headers.get("content-type", "").startswith("text/html")
    return is_html and not any(name.startswith("x-amz") for name in headers)
