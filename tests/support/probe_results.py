"""Results of probes as the ledger holds them."""

from __future__ import annotations

from fanout.efs.calibration import Calibration
from fanout.efs.probe_result import Caps, ProbeBudget, ProbeResult, ProbeStatus
from fanout.ledger.documents import document_row
from fanout.model.document import Json


def probe_json(found: Calibration | None, probe_id: str = "probe-1", ended_at: float = 1000.0) -> Json:
    """The probe.json of a probe of the mount ``data`` that found this, and shows no experiment."""
    result = ProbeResult(
        probe_id=probe_id,
        status=ProbeStatus.SUCCEEDED,
        error=None,
        mount="data",
        file_system_id=None,
        path="/",
        state=None,
        began_at=0.0,
        ended_at=ended_at,
        budget=ProbeBudget(0, 0, 0.0, 0.0, 1),
        caps=Caps(0, 0, 0, True, ""),
        experiments=[],
        calibration=found,
    )
    return document_row(result)
