"""Lambda handler of the state OpenProbe."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import probe_directories
from fanout.domain.rows import Json
from fanout.handlers import handle
from fanout.steps.open_probe import open_probe


def handler(event: Json, context: Any) -> Json:
    """Make the directory that the probe works in."""
    return handle("OpenProbe", event, context, lambda step: open_probe(step, probe_directories))
