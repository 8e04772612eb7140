"""The trace of a task: one subsegment, sent to X-Ray's daemon, which Lambda runs next to the function.

Formats: docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html, xray-api-sendingdata.html (the
daemon's header) and xray-concepts.html#xray-concepts-tracingheader.
Why not AWS's SDK: docs/develop/decisions/0022-traces-without-the-sdk.md.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping

from msgspec import Struct

from fanout.model.document import Json

_HEADER = b'{"format": "json", "version": 1}\n'
_TRACE, _DAEMON = "_X_AMZN_TRACE_ID", "AWS_XRAY_DAEMON_ADDRESS"


class Traced(Struct, frozen=True):
    """An invocation that is traced: its trace, the segment of the function, and the daemon's address."""

    trace_id: str
    parent_id: str
    daemon: tuple[str, int]

    def send(
        self, name: str, began: float, ended: float, annotations: Mapping[str, str], error: BaseException | None
    ) -> None:
        """Send what ran from ``began`` to ``ended`` (seconds since 1970). Raises ``OSError``.

        Sends only the class of an error, because messages may name entries.
        """
        document: Json = {
            "type": "subsegment",
            "name": name,
            "id": _new_id(),
            "trace_id": self.trace_id,
            "parent_id": self.parent_id,
            "start_time": began,
            "end_time": ended,
            "annotations": dict(annotations),
        }
        if error is not None:
            document |= {"fault": True, "cause": {"exceptions": [{"id": _new_id(), "type": type(error).__name__}]}}
        family = socket.AF_INET6 if ":" in self.daemon[0] else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sending:
            sending.sendto(_HEADER + json.dumps(document).encode(), self.daemon)


def traced_by(environment: Mapping[str, str]) -> Traced | None:
    """Reads the trace of an invocation from its environment; ``None`` without a trace or a daemon."""
    parts = dict(part.split("=", 1) for part in environment.get(_TRACE, "").split(";") if "=" in part)
    host, _, port = environment.get(_DAEMON, "").rpartition(":")
    if parts.get("Sampled") != "1" or not {"Root", "Parent"} <= parts.keys() or not host or not port.isdecimal():
        return None
    return Traced(parts["Root"], parts["Parent"], (host, int(port)))


def _new_id() -> str:
    return os.urandom(8).hex()
