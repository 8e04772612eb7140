"""Lambda handler of the state RunExperiment."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import probe_directories
from fanout.domain.rows import Json
from fanout.events import field
from fanout.handlers import handle
from fanout.steps.run_experiment import run_experiment


def handler(event: Json, context: Any) -> Json:
    """Measure what one function has to measure in one round of a probe."""
    number, member = field(event, "round"), field(event, "member")
    return handle("RunExperiment", event, context, lambda step: run_experiment(step, number, member, probe_directories))
