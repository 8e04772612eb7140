"""Measures the file systems of a request for PlanTransfer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.calibration import Calibration
from fanout.efs.capacity import FileSystemState, assumed_state, published
from fanout.efs.measurement import state_of
from fanout.facts.mounts import S3_FILES
from fanout.ledger.kind import ALONE, ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.errors import FanoutError, Throttled, Transient
from fanout.model.file_system import ThroughputMode
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context

T = TypeVar("T")
# Chosen: how long a plan waits before it asks again, and so how often.
PAUSES_SECONDS = (0.5, 2.0)


class MeasuredFileSystems(Struct, frozen=True):
    """file-systems.json: the state of each file system that has an id, and the ids, by mount."""

    mounts: dict[str, FileSystemState]
    ids: dict[str, str] = {}


FILE_SYSTEMS = ObjectKind("file-systems.json", MeasuredFileSystems, by=("PlanTransfer",), wave=ALONE, early=True)


def measure_file_systems(
    request: Request,
    context: Context,
    calibrations: Mapping[str, Calibration],
    unmeasured: Collection[str],
    notes: list[str],
) -> MeasuredFileSystems:
    """The content of file-systems.json: the state of each mount of the request whose file system has an id.

    A file system that cannot be described counts as the smallest there is. Metrics that cannot be read count as
    missing. The run continues, and notes say what is assumed and why. A limit that a probe found is the most that the
    plan uses. ``unmeasured`` are the mounts of S3 Files, of which neither EFS nor CloudWatch knows.
    """
    ids = context.stack.facts.file_systems
    mounts = {end.mount for end in (request.source, request.destination) if not end.is_keyed}
    measured: dict[str, FileSystemState] = {}
    for mount in sorted(mounts & ids.keys()):
        one_of = _of_s3_files if mount in unmeasured else _measured
        measured[mount] = one_of(ids[mount], context, notes)
    for mount in sorted(mounts & calibrations.keys()):
        limit = calibrations[mount].limit_bytes_per_second
        if limit is not None:
            state = measured.get(mount) or FileSystemState(ThroughputMode.ASSUMED, limit)
            measured[mount] = replace(state, probed_bytes_per_second=limit)
    known = {mount: ids[mount] for mount in sorted(mounts & ids.keys())}
    return MeasuredFileSystems(measured, known)


def measured_file_systems(ledger: Ledger) -> Mapping[str, FileSystemState]:
    """The states that PlanTransfer wrote, by mount; empty if it measured none."""
    found = ledger.find(FILE_SYSTEMS)
    return {} if found is None else found.mounts


def are_apart(plan: Plan, ledger: Ledger) -> bool:
    """Whether the ends are known to lie on two file systems."""
    source, destination = _file_systems(plan, ledger)
    return None not in (source, destination) and source != destination


def are_one_file_system(plan: Plan, ledger: Ledger) -> bool:
    """Whether the ends are known to lie on one file system."""
    source, destination = _file_systems(plan, ledger)
    return source is not None and source == destination


def _file_systems(plan: Plan, ledger: Ledger) -> tuple[str | None, str | None]:
    """The ids of the ends' file systems, where PlanTransfer knew them."""
    found = ledger.find(FILE_SYSTEMS)
    ids = {} if found is None else found.ids
    return ids.get(plan.request.source.mount), ids.get(plan.request.destination.mount)


def _of_s3_files(file_system_id: str, _context: Context, notes: list[str]) -> FileSystemState:
    mode = ThroughputMode(S3_FILES.mode)
    why = f"{file_system_id} is of S3 Files: the figures and prices of EFS in the mode {mode.value} are assumed"
    notes.append(why)
    rate = published(mode, 0, 0, one_zone=False)
    return FileSystemState(mode, rate, assumptions=(why,), puts_a_file=S3_FILES.puts_a_file)


def _measured(file_system_id: str, context: Context, notes: list[str]) -> FileSystemState:
    try:
        described = asked(partial(context.stack.meter.describe, file_system_id), context)
    except FanoutError as error:
        state = assumed_state(f"{file_system_id} could not be described ({type(error).__name__}: {error})")
        notes += state.assumptions
        return state
    now = context.clock.now()
    try:
        readings = asked(partial(context.stack.meter.readings, file_system_id, now), context)
    except FanoutError as error:
        notes.append(f"the metrics of {file_system_id} could not be read ({type(error).__name__}: {error})")
        readings = {}
    state = state_of(described, readings, now)
    notes += [f"{file_system_id}: {sentence}" for sentence in state.assumptions]
    return state


def asked(question: Callable[[], T], context: Context) -> T:
    """The answer to a question, which is repeated when it is throttled or lost; a plan waits no longer than that."""
    for pause in PAUSES_SECONDS:
        try:
            return question()
        except (Throttled, Transient):
            context.clock.sleep(pause)
    return question()
