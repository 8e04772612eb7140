"""A function that is taken for lost, and wakes up while its run goes on, changes nothing that others have finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.runner import carry_out
from tests.adversary.script import WITHIN_MOUNT, Act, Fault, Script, Spec
from tests.adversary.worlds import script_of

# Two files with two names each, and an extra, whose deletion comes after the names are linked.
SOURCE = (
    Spec("d", "directory", mode=0o750),
    Spec("d/f", size=900, seed=1),
    Spec("d/g", size=9000, seed=2),
    Spec("n", "link", target="d/f"),
    Spec("m", "link", target="d/g"),
)
OPTIONS = {"mode": "sync", "delete_guard": {"max_percent": 100.0}}


def frozen_copy(at: int, *, short: bool) -> Script:
    """A copy that freezes at this operation, and wakes up when the names are linked."""
    frozen = Fault("copy/any", at, "oversleep", seed=5 if short else 4)  # until BeginDeletion
    acts = (Act("run", "last", faults=(frozen,)),)
    return Script(0, WITHIN_MOUNT, SOURCE, (Spec("d/extra", size=5, seed=9),), acts, OPTIONS, short=short)


@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
@pytest.mark.parametrize("at", range(3, 43, 6))
def test_a_copy_that_wakes_up_late_parts_no_names_of_a_file(tmp_path: Path, at: int, short: bool) -> None:
    outcome = carry_out(frozen_copy(at, short=short), tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("last", "SUCCEEDED")])
    assert outcome.told["oversleep"] == 1


def test_they_are_drawn_in_the_short_way_and_in_the_ordinary_one() -> None:
    drawn = [script for script in map(script_of, range(300)) if any(one.what == "oversleep" for one in script.faults())]
    assert {script.short for script in drawn} == {True, False}
