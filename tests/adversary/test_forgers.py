"""A local user forges and poses at many operations of runs that link and keep: nothing is read or forged for him."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.adversary.forgers import FORGE, POSE_AS_KEPT
from tests.adversary.runner import carry_out
from tests.adversary.script import WITHIN_MOUNT, Act, Change, Fault, Script, Spec

SOURCE = (
    Spec("a", size=900, seed=1),
    Spec("d", "directory", mode=0o700),
    Spec("d/second", "link", target="a"),
    Spec("d/e", "directory", mode=0o700),
    Spec("d/e/f", size=8000, seed=2),
)
DESTINATION = (
    Spec("d", "directory", mode=0o700),
    Spec("d/e", "directory", mode=0o700),
    Spec("d/e/f", size=700, seed=3),
    Spec("d/gone", size=60, seed=4),
)
OPTIONS = {"mode": "sync", "delete_guard": {"max_percent": 100.0}, "backup_to": "efs://data/kept"}
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize(("what", "kind", "step"), [(FORGE, "finish/any", 3), (POSE_AS_KEPT, "any", 61)])
def test_a_local_user_gets_nothing_done(what: str, kind: str, step: int, short: bool, tmp_path: Path) -> None:
    ended = set()
    for at in range(2, 13 * step, step):
        change = Change(what, "", at, "destination")
        acts = (Act("run", "r1", faults=(Fault(kind, at, "change", change=change),)), Act("run", "last"))
        script = Script(0, WITHIN_MOUNT, SOURCE, DESTINATION, acts, OPTIONS, short=short)
        outcome = carry_out(script, tmp_path / str(at))
        assert outcome.findings == []
        assert outcome.statuses[-1] == ("last", "SUCCEEDED")
        ended.add(outcome.statuses[0][1])
        if not outcome.told:
            break
    assert ended != {"SUCCEEDED"}, "no deed came in the middle of a run"
