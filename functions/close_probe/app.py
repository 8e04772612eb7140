"""Lambda handler of the state CloseProbe."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.probe.open_probe import close_probe
from fanout.runtime.bootstrap import probe_directories
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Remove the directory that the probe worked in."""
    return handle("CloseProbe", event, context, lambda step: close_probe(step, probe_directories))
