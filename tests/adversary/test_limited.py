"""Limits that end runs in any phase: chains of retries end well, and a product that forgets a proof is found."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanout.summary import stopping
from fanout.verifying import verify_shard
from tests.adversary.limited import COPIED_FIRST, limited
from tests.adversary.remedies import RETRIED
from tests.adversary.runner import carry_out
from tests.adversary.script import MOUNT_TO_S3, TWO_MOUNTS, WITHIN_MOUNT, Act, Fault, Script, Spec
from tests.adversary.worlds import script_of

SOURCE = tuple(Spec(f"d{number % 2}/f{number}", size=100 + number, seed=number) for number in range(20))
LIMITS: dict[str, Any] = {"limits": {"max_seconds": 600, "shard_seconds": 0.1}}
COMPARING: dict[str, Any] = {**LIMITS, "verify": "all"}


def chain(direction: str, kind: str, *at: int, short: bool = False, **options: Any) -> Script:
    """Runs that time stops at such an operation, each of which resumes the one before, and one that has time.

    Those that find both trees equal follow a copy.
    """
    follows = options.get("mode") in ("verify", "sync")
    acts = [Act("run", COPIED_FIRST, {"mode": "copy"}), Act("wait", seconds=30)] if follows else []
    for number, operation in enumerate([*at, 0]):
        faults = (Fault(kind, operation, "late"),) if operation else ()
        resumed = {"resume_from": f"limited{number - 1}"} if number else {}
        acts.append(
            Act("run", f"limited{number}" if operation else RETRIED, {**COMPARING, **options, **resumed}, faults)
        )
    return Script(0, direction, SOURCE, (), tuple(acts), short=short)


@pytest.mark.parametrize(("direction", "short"), [(WITHIN_MOUNT, True), (MOUNT_TO_S3, False)])
@pytest.mark.parametrize("state", ["list", "copy", "finish", "begin verification", "verify"])
def test_a_chain_that_time_stops_in_any_phase_ends_well(
    state: str, direction: str, short: bool, tmp_path: Path
) -> None:
    outcome = carry_out(chain(direction, f"{state}/any", 1, 9, 25, short=short), tmp_path / "lab")
    assert (outcome.findings, outcome.statuses[-1]) == ([], (RETRIED, "SUCCEEDED"))


@pytest.mark.parametrize("mode", ["verify", "sync"])
@pytest.mark.parametrize("direction", [WITHIN_MOUNT, MOUNT_TO_S3, TWO_MOUNTS])
def test_a_chain_that_time_stops_while_both_trees_are_compared_ends_well(
    direction: str, mode: str, tmp_path: Path
) -> None:
    script = chain(direction, "verify/any", 30, 60, 90, mode=mode)
    outcome = carry_out(script, tmp_path / "lab")
    assert (outcome.findings, outcome.statuses[-1]) == ([], (RETRIED, "SUCCEEDED"))
    assert outcome.told["late"] > 0


@pytest.mark.parametrize("mode", ["copy", "verify", "sync"])
@pytest.mark.parametrize("direction", [WITHIN_MOUNT, TWO_MOUNTS])
def test_a_product_that_forgets_what_is_proven_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direction: str, mode: str
) -> None:
    script = chain(direction, "verify/any", 80, mode=mode)
    assert not carry_out(script, tmp_path / "lab").kinds
    monkeypatch.setattr(verify_shard, "proofs_about", lambda *_: {})
    assert "proven twice" in carry_out(script, tmp_path / "forgets").kinds


def test_a_product_that_does_not_name_its_limit_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "_NOT_REACHED", ())
    assert carry_out(chain(WITHIN_MOUNT, "copy/any", 2, verify="none"), tmp_path / "lab").kinds == {"limit"}


def test_each_mode_and_both_limits_are_drawn() -> None:
    for mode in ("copy", "move", "sync"):
        drawn = [limited(Random(seed), {"mode": mode}, (Act("run", "last"),)) for seed in range(300)]
        chains = [acts for acts in drawn if len(acts) > 1]
        limits = {limit for acts in chains for limit in acts[-3].options["limits"]}
        assert limits == {"max_seconds", "max_dollars"}
        assert {"resume_from" in acts[-3].options for acts in chains} == {True}
        assert {acts[-3].options.get("mode", mode) for acts in chains} == {mode, "verify"}


def test_seeds_have_chains_that_reach_their_limit(tmp_path: Path) -> None:
    chains = [seed for seed in range(2000) if any(act.run == "limited0" for act in script_of(seed).acts)][:8]
    outcomes = [carry_out(script_of(seed), tmp_path / str(seed)) for seed in chains]
    assert sum(outcome.told["late"] for outcome in outcomes) > 2
