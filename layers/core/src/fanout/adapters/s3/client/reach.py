"""Finds out within seconds whether S3 can be reached at all.

Without a gateway endpoint a function in a VPC has no route to S3. A connection is not refused but never made. With
retries on every level a run would hang for many minutes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from fanout.adapters.aws.endpoint import Endpoint, locate
from fanout.adapters.http.transport import ConnectionBroken, Timeouts, Transport
from fanout.model.errors import Unreachable

CONNECT_SECONDS = 4.0
ATTEMPTS = 2
REMEDY = (
    "add a gateway endpoint for S3 to the route table of the functions' subnets (`fanout doctor` says which), "
    "and let their security group out to port 443"
)


def reach(
    endpoint: Endpoint, bucket: str, *, connect_seconds: float = CONNECT_SECONDS, attempts: int = ATTEMPTS
) -> float:
    """Ask the bucket's address for a head, unsigned; returns the seconds that it took.

    Any answer of an S3 will do. Raises ``Unreachable`` with the remedy if no attempt brings one.
    """
    location = locate(endpoint, bucket)
    stall_seconds = max(1, round(connect_seconds))
    transport = Transport(Timeouts(connect_seconds, stall_seconds, connect_seconds + stall_seconds / 4))
    for attempt in range(attempts):
        began = time.monotonic()
        try:
            found = transport.ask("HEAD", location.origin + location.root, {}, None)
        except ConnectionBroken as error:
            if error.remedy or attempt == attempts - 1:
                raise Unreachable(f"S3 cannot be reached from here ({error}); {error.remedy or REMEDY}") from error
        else:
            if _is_a_web_page(found.headers):
                said = f"{location.host} answers {found.status} with a page in HTML"
                raise Unreachable(f"S3 cannot be reached from here ({said}); name the address of an S3")
            return time.monotonic() - began
    raise AssertionError("no attempt was made")


def _is_a_web_page(headers: Mapping[str, str]) -> bool:
    is_html = headers.get("content-type", "").startswith("text/html")
    return is_html and not any(name.startswith("x-amz") for name in headers)
