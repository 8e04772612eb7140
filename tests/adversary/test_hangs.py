"""A step that never returns ends its task by name, and the run is carried on to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.hangs import HANGS
from tests.adversary.runner import carry_out
from tests.adversary.script import DIRECTIONS, MOUNT_TO_S3, S3_TO_MOUNT, WITHIN_MOUNT, Act, Fault, Script, Spec
from tests.adversary.worlds import script_of

SOURCE = (Spec("d/f", size=900, seed=1), Spec("d/g", size=60_000, seed=2))
DESTINATION = (Spec("d/f", size=7, seed=3), Spec("d/extra", size=5, seed=9))
OPTIONS = {"mode": "sync", "delete_guard": {"max_percent": 100.0}}
STEPS = ("list/any", "partition/any", "copy/any", "finish/any", "delete/any", "summarise/any")


@pytest.mark.parametrize("direction", [WITHIN_MOUNT, S3_TO_MOUNT, MOUNT_TO_S3])
@pytest.mark.parametrize("what", HANGS)
@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
def test_a_run_goes_on_after_a_step_that_hung(tmp_path: Path, short: bool, what: str, direction: str) -> None:
    told = 0
    for number, kind in enumerate(STEPS):
        faults = tuple(Fault(kind, at, what) for at in (1, 6))
        script = Script(0, direction, SOURCE, DESTINATION, (Act("run", "last", faults=faults),), OPTIONS, short=short)
        outcome = carry_out(script, tmp_path / str(number))
        assert (outcome.findings, outcome.statuses) == ([], [("last", "SUCCEEDED")]), kind
        told += outcome.told[what]
    assert told >= len(STEPS)


@pytest.mark.parametrize("what", HANGS)
def test_one_that_hangs_each_time_ends_the_run_by_name(tmp_path: Path, what: str) -> None:
    acts = (Act("run", "r1", faults=(Fault("list/any", 1, what, times=1000),)), Act("run", "last"))
    outcome = carry_out(Script(0, WITHIN_MOUNT, SOURCE, (), acts), tmp_path / "lab")
    assert outcome.findings == []
    assert outcome.statuses == [("r1", "FAILED"), ("last", "SUCCEEDED")]
    assert outcome.told[what] >= 7, "tried again as often as a function that was lost"


def test_they_are_drawn_in_each_direction() -> None:
    drawn = [script for script in map(script_of, range(100)) if any(one.what in HANGS for one in script.faults())]
    assert {script.direction for script in drawn} == set(DIRECTIONS)
