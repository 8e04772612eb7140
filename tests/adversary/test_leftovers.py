"""A local user owns the root and renames what is closed there, at many moments: none of it is opened for him."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.fencing.made_marks import MadeMarks
from tests.adversary.leftovers import GIVE, RENAME_CLOSED, RENAME_LEFT
from tests.adversary.runner import carry_out
from tests.adversary.scene import Outcome
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.worlds import script_of

SOURCE = (
    Spec("a/f", size=900, seed=1),
    Spec("d", "directory", mode=0o755),
    Spec("d/f", size=900, seed=1),
    Spec("d/e/g", size=60_000, seed=2),
)
GIVEN = Act("change", change=Change(GIVE, "", end="destination"))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the files of a plain user are his own")


def carried_out(direction: str, at: int, renamed: str, base: Path) -> Outcome:
    """A first run that is killed, or at which he works, and one after it."""
    source = SOURCE if direction != S3_TO_MOUNT else (SOURCE[0], *SOURCE[2:])
    kind = "unpack/any" if direction == TWO_MOUNTS else "copy/any"
    fault = (
        Fault(kind, at, "stop")
        if renamed != "during"
        else Fault(kind, at, "change", change=Change(RENAME_CLOSED, "a", 0, "destination"))
    )
    after = (Act("change", change=Change(RENAME_LEFT, "a", 0, "destination")),) if renamed == "after" else ()
    acts = (GIVEN, Act("run", "r1", faults=(fault,)), *after, Act("run", "r2"), Act("run", "last"))
    return carry_out(Script(0, direction, source, (), acts, short=at % 2 == 0), base)


@pytest.mark.parametrize("renamed", ["", "during", "after"])
@pytest.mark.parametrize("direction", [S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS])
def test_nothing_is_opened_under_another_name(direction: str, renamed: str, tmp_path: Path) -> None:
    ended = set()
    for at in (20, 37, 65, 80, 100):
        outcome = carried_out(direction, at, renamed, tmp_path / str(at))
        assert outcome.findings == []
        assert outcome.statuses[-1] == ("last", "SUCCEEDED")
        ended |= {status for _, status in outcome.statuses}
    assert ("FAILED_WITH_ITEMS" in ended) == (renamed != "")


def test_a_product_that_opens_what_has_the_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MadeMarks, "require", lambda *_, **__: None)
    monkeypatch.setattr(MadeMarks, "is_made_for", lambda *_: True)
    found = [carried_out(S3_TO_MOUNT, at, "after", tmp_path / str(at)).kinds for at in (65, 80)]
    assert {"opened for a local user"} in found


def test_seeds_draw_each() -> None:
    scripts = [script_of(seed) for seed in range(300)]
    given = [one for one in scripts if any(act.change and act.change.what == GIVE for act in one.acts)]
    after = [one for one in given if any(act.change and act.change.what == RENAME_LEFT for act in one.acts)]
    during = [one for one in given if any(one.change and one.change.what == RENAME_CLOSED for one in one.faults())]
    assert min(len(given) - len(after), len(after), len(during)) > 0
