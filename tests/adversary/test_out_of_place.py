"""Steps of a run at work that somebody has begin by hand, drawn: what a run says of itself stays true."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.adversary.runner import carry_out
from tests.adversary.script import DIRECTIONS, TWO_MOUNTS, Fault
from tests.adversary.test_forged_events import KINDS, script_of
from tests.support.long import drawn

SEEDS = range(200)
# What was sent may end the run, by a named cause, and stage what the next run removes.
BROKEN_OFF = {"quiet run failed", "quiet entry failed", "superseded by nobody", "staged"}
STATES = ("check", "list", "partition", "copy", "finish", "begin deletion", "delete", "verify", "remove directories")


@pytest.mark.parametrize("seed", drawn(SEEDS, 20))
def test_steps_out_of_place_break_no_promise(seed: int, tmp_path: Path) -> None:
    draw = Random(f"steps out of place {seed}")
    direction, kind = draw.choice((*DIRECTIONS, TWO_MOUNTS)), draw.choice([*KINDS])
    faults = tuple(
        Fault(f"{state}/any", draw.randrange(1, 9), "step out of place", seed=100 * seed + number)
        for number, state in enumerate(draw.sample(STATES, 4))
    )
    outcome = carry_out(script_of(direction, kind, faults), tmp_path / "with")
    broken = [one for one in outcome.findings if one.kind not in BROKEN_OFF]
    assert broken == [], (direction, kind)
