"""probe-plan.json: what every function of a probe reads."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from fanout.efs.model import FileSystemState
from fanout.efs.state_document import state_from_row, state_row
from fanout.probe.experiments import ProbeRequest, Round, round_from_row, round_row

SCHEMA_VERSION = 1


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

    @property
    def file_system(self) -> str:
        """By what the results are kept."""
        return self.file_system_id or self.mount


def probe_plan_row(plan: ProbePlan) -> dict[str, Any]:
    """probe-plan.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "probe_id": plan.probe_id,
        "mount": plan.mount,
        "file_system_id": plan.file_system_id,
        "request": asdict(plan.request),
        "began_at": plan.began_at,
        "ends_at": plan.ends_at,
        "state": plan.state and state_row(plan.state),
        "rounds": [round_row(one) for one in plan.rounds],
    }


def probe_plan_from_row(row: dict[str, Any]) -> ProbePlan:
    """The plan of probe-plan.json."""
    return ProbePlan(
        row["probe_id"],
        row["mount"],
        row["file_system_id"],
        ProbeRequest(**row["request"]),
        row["began_at"],
        row["ends_at"],
        row["state"] and state_from_row(row["state"]),
        tuple(round_from_row(one) for one in row["rounds"]),
    )
