"""What pytest runs in the guest, with its temporary directories on a mount."""

from __future__ import annotations

import os
from dataclasses import dataclass

IN_GUEST = "FANOUT_IN_GUEST" in os.environ
# ``required``: a machine that cannot run a guest fails. ``whole``: that, and every selection.
ASKED = os.environ.get("FANOUT_NFS", "")


@dataclass(frozen=True)
class Selection:
    """``arguments`` of pytest; ``seconds`` at most, with a translated processor on a busy machine."""

    name: str
    arguments: tuple[str, ...]
    seconds: float
    in_gate: bool = False


_INSIDE = "tests/nfs/inside"
SELECTIONS = (
    Selection(
        "gate", tuple(f"{_INSIDE}/test_{name}.py" for name in ("lab", "unlinked_files", "operations")), 900, True
    ),
    Selection("clients and faults", tuple(f"{_INSIDE}/test_{name}.py" for name in ("clients", "faults")), 1800),
    Selection("posix", ("tests/adapters/posix",), 3600),
    Selection("mounts", ("tests/contract", "-k", "directory or mount-root"), 3600),
    Selection("runs", ("tests/runs",), 7200),
)


def asked_for() -> tuple[Selection, ...]:
    """Every selection if the whole is asked for, else those of the gate."""
    return tuple(one for one in SELECTIONS if one.in_gate or ASKED == "whole")
