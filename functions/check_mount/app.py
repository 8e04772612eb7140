"""Lambda handler of the states CheckMount and CheckOtherMount."""

from __future__ import annotations

from typing import Any

from fanout.doctor import examine, is_doctor, require_s3
from fanout.domain.rows import Json
from fanout.handlers import handle
from fanout.selftest_removal import is_removal, remove_selftest
from fanout.steps.check_mount import check_mount


def handler(event: Json, context: Any) -> Json:
    """Check the ends from where the copying happens, or say what is found there."""
    if is_doctor(event):
        return examine(event)
    if is_removal(event):
        return remove_selftest(event)
    require_s3()
    return handle("CheckMount", event, context, check_mount)
