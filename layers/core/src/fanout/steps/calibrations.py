"""What the newest probes of a request's file systems found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from fanout.domain import probe_keys
from fanout.domain.calibration import Calibration, calibration_of
from fanout.domain.errors import FanoutError
from fanout.domain.locations import MountLocation
from fanout.domain.request import Request
from fanout.steps.context import Context


def read_calibrations(request: Request, context: Context) -> tuple[Mapping[str, Calibration], list[str]]:
    """By mount, and a sentence each for the notes of the run; a mount that nobody probed has none.

    A result that can not be read is none: the plan then uses the published figures, and a note says why.
    """
    found: dict[str, Calibration] = {}
    notes: list[str] = []
    for mount in sorted({end.mount for end in (request.source, request.destination) if isinstance(end, MountLocation)}):
        try:
            results = context.ledger.of_file_system(context.file_system_ids.get(mount) or mount)
            known = calibration_of(results.read_json(probe_keys.LATEST)) if results.has(probe_keys.LATEST) else None
        except (FanoutError, ValueError) as error:
            notes.append(f"{mount}: the newest probe could not be used ({type(error).__name__}: {error})")
            continue
        if known is not None:
            found[mount] = known
            day = datetime.fromtimestamp(known.at, UTC).date().isoformat()
            notes.append(f"{mount}: rates are those that {known.probe} measured on {day}")
    return found, notes
