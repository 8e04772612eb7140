"""Lambda handler of the state BeginVerification."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import settings
from fanout.domain.rows import Json
from fanout.events import field
from fanout.handlers import handle
from fanout.steps.begin_verification import begin_verification


def handler(event: Json, context: Any) -> Json:
    """Plan the comparison of both trees."""
    begun = handle("BeginVerification", event, context, lambda step: begin_verification(step, settings().work_bucket))
    return {**begun, "run": {**field(event, "run"), **begun["run"]}}
