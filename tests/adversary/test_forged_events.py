"""Hand-made events of a run at work, drawn: each is refused, and the run ends as it would have without it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.adversary.runner import Outcome, carry_out
from tests.adversary.script import DIRECTIONS, INSIDE_S3, S3_TO_MOUNT, Act, Fault, Script
from tests.adversary.states import LABELS
from tests.adversary.test_twice_at_once import EXTRA, SOURCE, SYNC
from tests.support.long import drawn

KINDS: dict[str, dict[str, Any]] = {
    "copy": {},
    "sync": SYNC,
    "move": {"mode": "move"},
    "plan": {"mode": "plan"},
    "verify": {"mode": "verify"},
    "copied": {"verify": "copied"},
    "all": {"verify": "all"},
}
SEEDS = range(200)


def script_of(direction: str, kind: str, faults: tuple[Fault, ...] = ()) -> Script:
    """A run of a kind, with these faults."""
    from_s3 = direction in (S3_TO_MOUNT, INSIDE_S3)
    source = tuple(spec for spec in SOURCE if not from_s3 or spec.kind == "file")
    extra = EXTRA[from_s3 and direction == INSIDE_S3 :]
    return Script(
        0,
        direction,
        source,
        extra if kind in ("sync", "verify") else (),
        (Act("run", "r1", faults=faults),),
        KINDS[kind],
    )


@cache
def without(direction: str, kind: str, base: Path) -> Outcome:
    """How it ends that nobody sends an event to."""
    return carry_out(script_of(direction, kind), base / f"{direction}-{kind}")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs without events are carried out."""
    return tmp_path_factory.mktemp("without")


@pytest.mark.parametrize("seed", drawn(SEEDS, 30))
def test_forged_events_are_refused_and_break_no_promise(seed: int, base: Path, tmp_path: Path) -> None:
    draw = Random(f"forged events {seed}")
    direction, kind = draw.choice(DIRECTIONS), draw.choice([*KINDS])
    states = sorted({*LABELS.values()} - {"plan", "short way", "take over"})
    faults = tuple(
        Fault(f"{state}/any", draw.randrange(1, 9), "forged event", seed=100 * seed + number)
        for number, state in enumerate(draw.sample(states, len(states)))
    )
    expected = without(direction, kind, base)
    outcome = carry_out(script_of(direction, kind, faults), tmp_path / "with")
    assert outcome.findings == expected.findings == [], (direction, kind)
    assert outcome.statuses == expected.statuses, (direction, kind)
    assert outcome.told["forged event"] > 0, (direction, kind)
