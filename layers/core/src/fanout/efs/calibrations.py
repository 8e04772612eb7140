"""Reads the calibrations that a request chooses from the probes of its file systems."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.efs.calibration import Calibration
from fanout.efs.probe_result import NEWEST_RESULT, PROBE_RESULT, ProbeResult
from fanout.model.document import utc
from fanout.model.errors import FanoutError, InvalidRequest, LedgerBroken
from fanout.request.options import NEWEST, NO_PROBE
from fanout.request.request import Request
from fanout.work.context import Context

_CHOOSE = "name a probe of an end's file system, newest or none"


def read_calibrations(request: Request, context: Context) -> tuple[Mapping[str, Calibration], list[str]]:
    """The calibrations by mount, and a sentence each for the notes of the run; a mount without a probe has none.

    A newest result that cannot be read is left out: the plan uses the published figures, and a note says why.
    Raises ``InvalidRequest`` for a probe that the request names and that cannot be used.
    """
    mounts = sorted({end.mount for end in (request.source, request.destination) if not end.is_keyed})
    if request.calibration == NO_PROBE:
        return {}, [f"{mount}: rates are the published ones, as the request says" for mount in mounts]
    found: dict[str, ProbeResult] = {}
    notes: list[str] = []
    if request.calibration != NEWEST:
        found = _of_probe(request.calibration, mounts, context)
    for mount in (one for one in mounts if one not in found):
        try:
            known = context.ledger.of_file_system(_file_system(mount, context)).find(NEWEST_RESULT)
        except FanoutError as error:
            notes.append(f"{mount}: the newest probe could not be used ({type(error).__name__}: {error})")
            continue
        if known is not None and known.calibration is not None:
            found[mount] = known
    calibrations = {mount: known.calibration for mount, known in found.items() if known.calibration is not None}
    said = "{}: rates are those that {} measured on {:.10}"
    return calibrations, notes + [said.format(name, one.probe_id, utc(one.ended_at)) for name, one in found.items()]


def _of_probe(probe: str, mounts: list[str], context: Context) -> dict[str, ProbeResult]:
    """The result of a probe, for each mount of the file system that it measured."""
    try:
        known = context.ledger.of_run(probe).find(PROBE_RESULT)
    except LedgerBroken as error:
        raise InvalidRequest("calibration", str(error), _CHOOSE) from error
    if known is None:
        problem = f"{probe} has no result here: no probe has this id, or it was of another stack, or has expired"
        raise InvalidRequest("calibration", problem, _CHOOSE)
    if known.calibration is None:
        raise InvalidRequest("calibration", f"{probe} ended without a calibration", _CHOOSE)
    measured = known.file_system
    same = [mount for mount in mounts if _file_system(mount, context) == measured]
    if not same:
        raise InvalidRequest("calibration", f"{probe} measured {measured}, which is at no end of the request", _CHOOSE)
    return dict.fromkeys(same, known)


def _file_system(mount: str, context: Context) -> str:
    return context.stack.facts.file_systems.get(mount) or mount
