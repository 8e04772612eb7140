"""Lambda handler of the state OpenProbe."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.probe.open_probe import open_probe
from fanout.runtime.bootstrap import probe_directories
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Make the directory that the probe works in."""
    return handle("OpenProbe", event, context, lambda step: open_probe(step, probe_directories))
