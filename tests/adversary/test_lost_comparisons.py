"""Comparisons whose attempts are lost or doubled do not contradict themselves, and a product that does is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.shards import shard_results
from fanout.shards.found_sums import BothDigests
from tests.adversary.runner import carry_out
from tests.adversary.script import MOUNT_TO_S3, WITHIN_MOUNT, Act, Change, Fault, Script, Spec

SOURCE = tuple(Spec(f"d{number % 2}/f{number}", size=100 + number, seed=number) for number in range(8))


def compared(direction: str, *faults: Fault) -> Script:
    """A copy, of which somebody changes a file, and a comparison."""
    changed = Act("change", change=Change("rewrite", "d0/f0", 7, "destination"))
    return Script(0, direction, SOURCE, (), (Act("run", "r1"), changed, Act("run", "last", {"mode": "verify"}, faults)))


@pytest.mark.parametrize("direction", [WITHIN_MOUNT, MOUNT_TO_S3])
@pytest.mark.parametrize("what", ["kill", "twice"])
def test_a_comparison_that_is_cut_anywhere_does_not_contradict_itself(
    what: str, direction: str, tmp_path: Path
) -> None:
    for at in (3, 9, 15, 21, 27, 33):
        outcome = carry_out(compared(direction, Fault("verify/any", at, what)), tmp_path / f"lab{at}")
        assert outcome.findings == [], at


def test_a_product_whose_sums_are_not_those_of_what_counts_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = shard_results.RecordSums(digests=BothDigests("1", "2"))
    monkeypatch.setattr(shard_results, "_sums_of", lambda *_: sums)
    script = Script(0, WITHIN_MOUNT, SOURCE, (), (Act("run", "r1"), Act("run", "last", {"mode": "verify"})))
    assert carry_out(script, tmp_path / "lab").kinds == {"sums"}
