"""Checksums that S3 computes are drawn with each trouble, and no trouble hides a copy that has other bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.alike import SPOIL
from tests.adversary.computing import TROUBLES
from tests.adversary.runner import carry_out
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Act, Change, Script, Spec
from tests.adversary.worlds import script_of

OPTIONS = {"verify": "content", "checksums": "computed"}
SOURCE = tuple(Spec(f"d/f{number}", size=9 + number, seed=number + 1) for number in range(7))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_spoilt_copy_is_found_whatever_becomes_of_the_jobs(trouble: str, tmp_path: Path) -> None:
    spoilt = Act("change", change=Change(SPOIL, "d/f3", 5, "destination"))
    acts = (Act("run", "r1"), Act("wait", seconds=9), spoilt, Act("run", "check", {"mode": "verify"}))
    script = Script(0, S3_TO_MOUNT, SOURCE, (), acts, OPTIONS, jobs=trouble)
    outcome = carry_out(script, tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("r1", "SUCCEEDED"), ("check", "FAILED_WITH_ITEMS")])


def test_they_are_drawn_in_every_direction_with_a_bucket_and_with_every_trouble() -> None:
    drawn = [script for script in map(script_of, range(1_500)) if script.jobs]
    assert {script.direction for script in drawn} == {S3_TO_MOUNT, MOUNT_TO_S3, INSIDE_S3}
    assert {script.jobs for script in drawn} == set(TROUBLES)
    assert {script.options.get("mode", "copy") for script in drawn} >= {"copy", "sync", "move"}
