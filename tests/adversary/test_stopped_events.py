"""Hand-made events of a run that was stopped, drawn while a later run is at work: none is carried out."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from tests.adversary.runner import Outcome, carry_out
from tests.adversary.script import DIRECTIONS, MOUNT_TO_S3, TWO_MOUNTS, Act, Fault
from tests.adversary.test_forged_events import script_of
from tests.support.long import drawn

SEEDS = range(200)
# The states of the later run that come once it has its turn.
STATES = ("check", "list", "partition", "copy", "finish", "begin deletion", "delete", "verify")


@pytest.mark.parametrize("seed", drawn(SEEDS, 20))
def test_events_of_a_stopped_run_are_refused_and_break_no_promise(seed: int, tmp_path: Path) -> None:
    draw = Random(f"events of stopped runs {seed}")
    direction = draw.choice((*DIRECTIONS, TWO_MOUNTS, MOUNT_TO_S3))
    kind = draw.choice(("copy", "sync", "move", "move", "move"))
    stop = Fault(
        f"{draw.choice(('copy', 'unpack', 'finish', 'begin deletion', 'delete'))}/any", draw.randrange(1, 20), "stop"
    )
    faults = tuple(
        Fault(f"{state}/any", draw.randrange(1, 9), "event of a stopped run", seed=100 * seed + number)
        for number, state in enumerate(STATES)
    )
    script = script_of(direction, kind)

    def carried_out(name: str, faults: tuple[Fault, ...]) -> Outcome:
        acts = (Act("run", "r1", faults=(stop,)), Act("run", "r2", faults=faults), Act("run", "last"))
        return carry_out(replace(script, acts=acts), tmp_path / name)

    expected, outcome = carried_out("without", ()), carried_out("with", faults)
    assert outcome.findings == expected.findings == [], (direction, kind)
    assert outcome.statuses == expected.statuses, (direction, kind)
    assert outcome.told["event of a stopped run"] > 0, (direction, kind)
