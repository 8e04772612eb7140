"""A local user swaps, renames and poses at many operations of a run: nothing is read, forged or removed for him."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.adversary.runner import carry_out
from tests.adversary.script import S3_TO_MOUNT, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.thieves import POSE, RENAME, SWAP

SOURCE = (
    Spec("d", "directory", mode=0o700),
    Spec("d/f", size=900, seed=1),
    Spec("d/g", size=60_000, seed=2),
    Spec("n", "link", target="d/f"),
)
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@pytest.mark.parametrize("what", [SWAP, RENAME, POSE])
@pytest.mark.parametrize("direction", [S3_TO_MOUNT, WITHIN_MOUNT])
@pytest.mark.parametrize("short", [False, True])
def test_a_local_user_gets_nothing_done(what: str, direction: str, short: bool, tmp_path: Path) -> None:
    ended = set()
    for at in range(3, 400, 23):
        change = Change(what, "", at, "destination")
        acts = (Act("run", "r1", faults=(Fault("any", at, "change", change=change),)), Act("run", "last"))
        source = SOURCE if direction == WITHIN_MOUNT else SOURCE[1:3]
        outcome = carry_out(Script(0, direction, source, (), acts, short=short), tmp_path / str(at))
        assert outcome.findings == []
        assert outcome.statuses[-1] == ("last", "SUCCEEDED")
        ended.add(outcome.statuses[0][1])
        if not outcome.told:
            break
    assert "SUCCEEDED" in ended
    assert what == POSE or ended != {"SUCCEEDED"}, "no deed came in the middle of a run"
