"""Lambda handler of the state BeginVerification."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.runtime.bootstrap import settings
from fanout.runtime.events import field
from fanout.runtime.handlers import handle
from fanout.verifying.begin_verification import begin_verification


def handler(event: Json, context: Any) -> Json:
    """Plan the comparison of both trees."""
    begun = handle("BeginVerification", event, context, lambda step: begin_verification(step, settings().work_bucket))
    return {**begun, "run": {**field(event, "run"), **begun["run"]}}
