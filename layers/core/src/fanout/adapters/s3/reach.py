"""Whether S3 can be reached at all, found out in seconds.

Without a gateway endpoint a function in a VPC has no route to S3: a connection is not refused, it
never comes about, and with retries on every level a run would hang for many minutes.
"""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

from fanout.adapters.s3.endpoint import Endpoint, locate
from fanout.domain.errors import Unreachable

CONNECT_SECONDS = 4.0
ATTEMPTS = 2
REMEDY = (
    "add a gateway endpoint for S3 to the route table of the functions' subnets (`fanout doctor` says which), "
    "and let their security group out to port 443"
)


def reach(
    endpoint: Endpoint, bucket: str, *, connect_seconds: float = CONNECT_SECONDS, attempts: int = ATTEMPTS
) -> float:
    """Connect to the bucket's address; returns the seconds that it took.

    Raises ``Unreachable`` with the remedy if no attempt connects.
    """
    parts = urlsplit(locate(endpoint, bucket).origin)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    problem = ""
    for attempt in range(attempts):
        began = time.monotonic()
        try:
            _connect(host, port, attempt, connect_seconds)
        except TimeoutError:
            problem = f"no connection within {connect_seconds:g} s"
        except OSError as error:
            problem = error.strerror or str(error)
        else:
            return time.monotonic() - began
    raise Unreachable(f"S3 can not be reached from here ({host}:{port}: {problem}); {REMEDY}")


def _connect(host: str, port: int, attempt: int, seconds: float) -> None:
    """Connect to one address of the host, another at each attempt: S3 has eight, and each would take its time."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = addresses[attempt % len(addresses)]
    with socket.socket(family, kind, protocol) as connection:
        connection.settimeout(seconds)
        connection.connect(address)
