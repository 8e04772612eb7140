"""Ends that are one place, the work bucket, or a published tree: every run is refused, and the oracle sees if not."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanout.planning import check_mount, refusals
from tests.adversary.refused import MODES, ONE_PLACE, REFUSED_RUN, WORK_ALIAS, Ends, refused
from tests.adversary.runner import carry_out
from tests.adversary.script import DIRECTIONS, INSIDE_S3, TWO_MOUNTS, WITHIN_MOUNT, Act, Script, Spec

SOURCE = (Spec("d0/f", size=9, seed=1), Spec("g", size=5, seed=2))
ENDS = [(direction, ends) for some in (ONE_PLACE, WORK_ALIAS) for direction in some for ends in some[direction]]


def of(direction: str, ends: Ends, number: int = 0) -> Script:
    acts = (Act("run", REFUSED_RUN, {**ends, **MODES[number % len(MODES)]}), Act("run", "last"))
    return Script(0, direction, SOURCE, (), acts, ledger_in_s3=True)


@pytest.mark.parametrize("number", range(len(ENDS)))
def test_one_place_is_refused(number: int, tmp_path: Path) -> None:
    outcome = carry_out(of(*ENDS[number], number), tmp_path / "lab")
    assert (outcome.findings, outcome.statuses) == ([], [(REFUSED_RUN, "FAILED"), ("last", "SUCCEEDED")])


ASKED_TOO: tuple[dict[str, Any], ...] = (
    {"manifest": "s3://lists-bucket/list.jsonl"},
    {"limits": {"max_dollars": 5.0, "max_seconds": 600, "window": "00:00-23:59 UTC"}},
    {"include": ["**"], "compare": "always", "report_entries": "all"},
)


@pytest.mark.parametrize("more", ASKED_TOO, ids=lambda more: next(iter(more)))
@pytest.mark.parametrize("number", range(sum(direction in (TWO_MOUNTS, INSIDE_S3) for direction, _ in ENDS)))
def test_one_place_is_refused_whatever_else_is_asked(number: int, more: dict[str, Any], tmp_path: Path) -> None:
    direction, ends = [one for one in ENDS if one[0] in (TWO_MOUNTS, INSIDE_S3)][number]
    acts = (Act("run", REFUSED_RUN, {**ends, **MODES[number % len(MODES)], **more}), Act("run", "last"))
    manifest = {name: more[name] for name in more.keys() & {"manifest"}}
    outcome = carry_out(Script(0, direction, SOURCE, (), acts, manifest, ledger_in_s3=True), tmp_path / "lab")
    assert (outcome.findings, outcome.statuses[0]) == ([], (REFUSED_RUN, "FAILED"))


@pytest.mark.parametrize("direction", [TWO_MOUNTS, INSIDE_S3])
def test_a_move_onto_itself_is_found(direction: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_mount, "refuse_same_directory", lambda plan, context: None)
    monkeypatch.setattr(refusals, "refuse_same_bucket", lambda plan, context: [])
    assert "one place" in carry_out(of(direction, ONE_PLACE[direction][0]), tmp_path / "lab").kinds


def test_faults_are_drawn_and_a_refused_run_among_them_changes_nothing(tmp_path: Path) -> None:
    drawn = [refused(Random(seed), INSIDE_S3, (SOURCE, ()), True, (Act("run", "last"),)) for seed in range(900)]
    faults = [act.faults for acts in drawn for act in acts[:-1] if act.faults]
    assert {fault.what for some in faults for fault in some} >= {"kill", "twice", "late", "no answer of the ledger"}
    for number in range(0, len(ENDS), 3):
        direction, ends = ENDS[number]
        first = Act("run", REFUSED_RUN, {**ends, **MODES[number % 3]}, faults[number])
        script = Script(0, direction, SOURCE, (), (first, Act("run", "last")), ledger_in_s3=True)
        outcome = carry_out(script, tmp_path / str(number))
        assert (outcome.findings, outcome.statuses) == ([], [(REFUSED_RUN, "FAILED"), ("last", "SUCCEEDED")])


def test_each_kind_of_ends_is_drawn() -> None:
    published = (Spec("p/versions/.publisher"),)
    last = (Act("run", "last"),)
    for direction in DIRECTIONS:
        drawn = [refused(Random(seed), direction, (SOURCE, ()), True, last) for seed in range(900)]
        ends = {tuple(act.options.get(end) for end in ("source", "destination")) for acts in drawn for act in acts[:-1]}
        assert len(ends) == len(ONE_PLACE[direction]) + len(WORK_ALIAS.get(direction, ()))
    drawn = [refused(Random(seed), WITHIN_MOUNT, (published, published), False, last) for seed in range(99)]
    assert {act.options["mode"] for acts in drawn for act in acts[:-1]} == {"sync", "move"}
