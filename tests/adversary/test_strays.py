"""Late and altered events of earlier states come in the middle of others: the promises of the run hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.adversary.runner import carry_out
from tests.adversary.script import MOUNT_TO_S3, S3_TO_MOUNT, WITHIN_MOUNT, Act, Fault, Script
from tests.adversary.test_twice_at_once import EXTRA, SOURCE, SYNC

STATES = ("list", "partition", "copy", "finish", "begin deletion", "remove directories", "summarise")


@pytest.mark.parametrize("direction", [WITHIN_MOUNT, MOUNT_TO_S3, S3_TO_MOUNT])
@pytest.mark.parametrize("options", [{}, SYNC, {"mode": "move"}], ids=["copy", "sync", "move"])
def test_stray_events_break_no_promise(direction: str, options: dict[str, Any], tmp_path: Path) -> None:
    came = 0
    source = tuple(spec for spec in SOURCE if direction != S3_TO_MOUNT or spec.kind == "file")
    plain = Script(
        0, direction, source, EXTRA if options is SYNC else (), (Act("run", "r1"), Act("run", "last")), options
    )
    without = carry_out(plain, tmp_path / "without")
    assert without.findings == []
    for number, state in enumerate(STATES):
        faults = tuple(Fault(f"{state}/any", at, "stray event", seed=7 * number + at) for at in (2, 5, 11))
        script = replace(plain, acts=(Act("run", "r1", faults=faults), Act("run", "last")))
        outcome = carry_out(script, tmp_path / str(number))
        assert outcome.findings == [], (state, outcome.statuses)
        assert outcome.statuses[-1] == without.statuses[-1], (state, outcome.statuses, without.statuses)
        came += outcome.told["stray event"]
    assert came > 3, "a run that its guard refuses enters few of the states"
