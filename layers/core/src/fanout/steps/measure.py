"""What PlanTransfer finds out about the file systems of a request."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.domain import ledger_keys as keys
from fanout.domain.efs_model import FileSystemState, assumed_state
from fanout.domain.errors import FanoutError
from fanout.domain.forecast_row import state_from_row, state_row
from fanout.domain.locations import MountLocation
from fanout.domain.measurement import state_of
from fanout.domain.request import Request
from fanout.ledger import Ledger
from fanout.ports import Meter
from fanout.steps.context import Context


def measure_file_systems(request: Request, context: Context) -> None:
    """Write file-systems.json, what is known of each mount of the request whose file system has an id.

    One that can not be asked is taken to be the smallest that there is, and a note says why; the run goes on.
    """
    ids = context.file_system_ids
    mounts = {end.mount for end in (request.source, request.destination) if isinstance(end, MountLocation)}
    measured: dict[str, FileSystemState] = {}
    notes: list[str] = []
    for mount in sorted(mounts & ids.keys()):
        measured[mount] = _measured(ids[mount], context.meter, context.clock.now(), notes)
    context.ledger.write_json(keys.FILE_SYSTEMS, {mount: state_row(state) for mount, state in measured.items()})
    if notes:
        context.ledger.write_json(keys.note_key("measure"), notes)


def measured_file_systems(ledger: Ledger) -> Mapping[str, FileSystemState]:
    """What PlanTransfer wrote, by mount; of a run of an earlier version nothing."""
    if not ledger.has(keys.FILE_SYSTEMS):
        return {}
    return {mount: state_from_row(row) for mount, row in ledger.read_json(keys.FILE_SYSTEMS).items()}


def _measured(file_system_id: str, meter: Meter, now: float, notes: list[str]) -> FileSystemState:
    try:
        return state_of(meter.describe(file_system_id), meter.readings(file_system_id, now), now)
    except FanoutError as error:
        state = assumed_state(f"{file_system_id} could not be measured ({type(error).__name__}: {error})")
        notes += state.assumptions
        return state
