"""Each task is delivered twice at the same time, at many of its operations: the run ends as if it came once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adversary.runner import carry_out
from tests.adversary.script import MOUNT_TO_S3, WITHIN_MOUNT, Act, Fault, Script, Spec

SOURCE = (
    Spec("d", "directory", mode=0o750),
    Spec("d/f", size=900, seed=1),
    Spec("d/g", size=60_000, seed=2),
    Spec("n", "link", target="d/f"),
    Spec("m", "link", target="d/g"),
)
EXTRA = (Spec("d", "directory"), Spec("d/extra", size=5, seed=9))
SYNC: dict[str, Any] = {"mode": "sync", "delete_guard": {"max_percent": 100.0}}
# The tasks whose function keeps its ledger, and those that the short way walks through: state, first operation, step.
KEPT = (("plan", 4), ("partition", 6), ("finish", 5), ("begin deletion", 6), ("summarise", 9))
WALKED = (("check", 9), ("list", 7), ("copy", 11), ("finish", 5))


def carried_out(script: Script, directory: Path) -> bool:
    """Whether the fault came to pass; the run must end well, as the one that follows it."""
    outcome = carry_out(script, directory)
    fault = script.acts[0].faults[0]
    assert (outcome.findings, outcome.statuses) == ([], [("r1", "SUCCEEDED"), ("last", "SUCCEEDED")]), fault
    return outcome.told[fault.what] > 0


@pytest.mark.parametrize(
    ("direction", "options", "state", "step", "short"),
    [
        *((WITHIN_MOUNT, SYNC, *one, False) for one in KEPT),
        *((WITHIN_MOUNT, SYNC, *one, True) for one in WALKED),
        *((WITHIN_MOUNT, {"mode": "move"}, *one, False) for one in (("finish", 5), ("remove directories", 9))),
        *((MOUNT_TO_S3, {}, *one, True) for one in WALKED),
    ],
)
def test_a_task_that_is_delivered_twice_at_once(
    direction: str, options: dict[str, Any], state: str, step: int, short: bool, tmp_path: Path
) -> None:
    happened = 0
    for at in range(1, 400, step):
        fault = Fault(f"{state}/any", at, "twice")
        acts = (Act("run", "r1", faults=(fault,)), Act("run", "last"))
        script = Script(0, direction, SOURCE, EXTRA if options is SYNC else (), acts, options, short=short)
        if not carried_out(script, tmp_path / str(at)):
            break
        happened += 1
    assert happened, "the state has no such operation"
