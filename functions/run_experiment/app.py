"""Lambda handler of the state RunExperiment."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.probe.run_experiment import run_experiment
from fanout.runtime.bootstrap import probe_directories
from fanout.runtime.events import field
from fanout.runtime.handlers import handle


def handler(event: Json, context: Any) -> Json:
    """Measure what one function has to measure in one round of a probe."""
    number, member = field(event, "round"), field(event, "member")
    return handle("RunExperiment", event, context, lambda step: run_experiment(step, number, member, probe_directories))
