"""Ports on loopback: finding a free one, and asking whether a server answers on it."""

from __future__ import annotations

import http.client
import socket
import ssl
from pathlib import Path

HOST = "127.0.0.1"
ANSWER_SECONDS = 2


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def healthy(endpoint: str, trusted: Path) -> bool:
    """Whether the emulator at the endpoint, certified by an authority in the file, is ready for requests."""
    try:
        context = ssl.create_default_context(cafile=trusted)
    except OSError:  # a stack that has ended, and its files with it
        return False
    connection = http.client.HTTPSConnection(endpoint.removeprefix("https://"), timeout=ANSWER_SECONDS, context=context)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
