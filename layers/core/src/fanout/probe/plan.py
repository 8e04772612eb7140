"""probe-plan.json: what every function of a probe reads."""

from __future__ import annotations

from msgspec import Struct

from fanout.efs.model import FileSystemState
from fanout.probe.experiments import ProbeRequest, Round


class ProbePlan(Struct, frozen=True):
    """``ends_at`` is when the last experiment ends, in seconds since 1970; ``file_system_id`` may be empty.

    ``state`` is what EFS and CloudWatch say; ``None`` for a mount without an id.
    """

    probe_id: str
    mount: str
    file_system_id: str
    request: ProbeRequest
    began_at: float
    ends_at: float
    state: FileSystemState | None
    rounds: tuple[Round, ...]
