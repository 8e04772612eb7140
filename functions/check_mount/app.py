"""Lambda handler of the states CheckMount and CheckOtherMount."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.planning.check_mount import check_mount
from fanout.runtime.doctor import examine, is_doctor, require_s3
from fanout.runtime.handlers import handle
from fanout.runtime.selftest_removal import is_removal, remove_selftest


def handler(event: Json, context: Any) -> Json:
    """Check the ends from where the copying happens, or say what is found there."""
    if is_doctor(event):
        return examine(event)
    if is_removal(event):
        return remove_selftest(event)
    require_s3()
    return handle("CheckMount", event, context, check_mount)
