"""Ports on loopback: finding a free one, and asking whether a server answers on it."""

from __future__ import annotations

import http.client
import socket

HOST = "127.0.0.1"
ANSWER_SECONDS = 2


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def healthy(endpoint: str) -> bool:
    """Whether the emulator at the endpoint is ready for requests."""
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
