"""What an operator does as a remedy says, and then the retry: it succeeds, and the oracle misses nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fanout.resuming.taken_over import TakenOver
from tests.adversary.remedies import REMEDIES, RETRIED, remedied
from tests.adversary.runner import carry_out
from tests.adversary.script import (
    DIRECTIONS,
    MOUNT_TO_S3,
    S3_TO_MOUNT,
    WITHIN_MOUNT,
    Act,
    Change,
    Fault,
    Script,
    Spec,
)

SOURCE = tuple(Spec(f"d{number % 2}/f{number}", size=100, seed=number) for number in range(6))
NO_SPACE = Fault("os:create", 8, "ENOSPC", times=1000)
CLOSED = Fault("os:open", 1, "EACCES", times=1000, path="in/d0/f2")
FREED = tuple(Change("free", spec.path, end="destination") for spec in SOURCE)
AGAIN = Act("run", RETRIED, {"resume_from": "r1"})


def after(direction: str, fault: Fault, *deeds: Change) -> Script:
    acts = (Act("run", "r1", faults=(fault,)), *(Act("change", change=deed) for deed in deeds), AGAIN)
    return Script(0, direction, SOURCE, (), acts)


@pytest.mark.parametrize(
    "script",
    [
        after(S3_TO_MOUNT, NO_SPACE, *FREED),
        after(WITHIN_MOUNT, NO_SPACE, *FREED),
        after(WITHIN_MOUNT, CLOSED, Change("chmod", "d0/f2")),
        after(MOUNT_TO_S3, CLOSED, Change("chmod", "d0/f2", 1)),
        after(MOUNT_TO_S3, Fault("s3:PutObject", 4, "S3: 403", times=1000), *FREED),
    ],
)
def test_a_retry_after_the_remedy_succeeds(script: Script, tmp_path: Path) -> None:
    outcome = carry_out(script, tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("r1", "FAILED_WITH_ITEMS"), (RETRIED, "SUCCEEDED")])


def test_a_retry_that_does_not_look_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TakenOver, "add", TakenOver.settle)
    outcome = carry_out(after(S3_TO_MOUNT, NO_SPACE, *FREED), tmp_path / "lab")
    assert "lost" in outcome.kinds


def test_an_entry_that_stays_unreadable_is_found(tmp_path: Path) -> None:
    script = after(WITHIN_MOUNT, CLOSED)
    closed = Act("run", RETRIED, {"resume_from": "r1"}, (CLOSED,))
    outcome = carry_out(Script(0, WITHIN_MOUNT, SOURCE, (), (*script.acts[:-1], closed)), tmp_path / "lab")
    assert outcome.kinds == {"quiet entry failed"}


def test_each_remedy_is_drawn_where_a_request_can_be_retried() -> None:
    for direction in DIRECTIONS:
        drawn = [remedied(Random(seed), direction, (SOURCE, ()), {}, ()) for seed in range(300)]
        deeds = {(act.faults[0].kind, act.faults[0].what) for acts in drawn for act in acts[:1]}
        assert len(deeds) >= len(set(REMEDIES[direction]))
        assert not any(remedied(Random(seed), direction, (SOURCE, ()), {"mode": "sync"}, ()) for seed in range(300))
        for options, old in (({"mode": "move"}, ()), ({"overwrite": "never"}, SOURCE[:5])):
            drawn = [remedied(Random(seed), direction, (SOURCE, old), options, ()) for seed in range(300)]
            freed = {act.change.path for acts in drawn for act in acts if act.change and act.change.what == "free"}
            kept = SOURCE if "mode" in options else old
            assert any(drawn) and not freed & {spec.path for spec in kept}
