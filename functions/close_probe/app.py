"""Lambda handler of the state CloseProbe."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import probe_directories
from fanout.domain.rows import Json
from fanout.handlers import handle
from fanout.steps.open_probe import close_probe


def handler(event: Json, context: Any) -> Json:
    """Remove the directory that the probe worked in."""
    return handle("CloseProbe", event, context, lambda step: close_probe(step, probe_directories))
