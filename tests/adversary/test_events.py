"""Lists of batches of events: drawn, and a product that makes others of them is found; see ``events``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.planning import event_batches
from tests.adversary.events import batch, judge_batch
from tests.adversary.runner import carry_out
from tests.adversary.script import INSIDE_S3, S3_TO_MOUNT, Act, Script, Spec
from tests.adversary.worlds import script_of

SOURCE = tuple(Spec(f"d/é+ {number}", size=9 + number, seed=number) for number in range(12))
MANIFEST = {"manifest": "s3://lists-bucket/list.jsonl"}


@pytest.mark.parametrize("direction", [S3_TO_MOUNT, INSIDE_S3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_copies_what_its_batch_of_events_names(direction: str, seed: int, tmp_path: Path) -> None:
    script = Script(seed, direction, SOURCE, (), (Act("run", "last"),), MANIFEST, events=True)
    outcome = carry_out(script, tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [("last", "SUCCEEDED")])


@pytest.mark.parametrize("effect", ["Object Deleted", "ObjectRemoved", "Object Created"])
def test_a_product_that_misreads_an_event_is_found(monkeypatch: pytest.MonkeyPatch, effect: str) -> None:
    others = {**event_batches._EFFECTS, effect: event_batches._ContentChange.SAME_CONTENT}
    monkeypatch.setattr(event_batches, "_EFFECTS", others)
    batches = (batch("a-bucket", "in/", [spec.path for spec in SOURCE], seed) for seed in range(9))
    assert [one.kind for rows, named in batches for one in judge_batch(rows, named)]


def test_seeds_have_batches_of_events_from_both_ends_of_s3() -> None:
    scripts = [script for script in map(script_of, range(600)) if script.events]
    assert {script.direction for script in scripts} == {S3_TO_MOUNT, INSIDE_S3}
