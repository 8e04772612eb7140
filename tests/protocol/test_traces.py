"""Real runs of the adversary: each of their events is a step that the protocol of ``model/`` allows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.fencing.noted_removal import NotedRemoval
from fanout.adapters.posix.staging import Staging
from tests.adversary.script import Script, from_json
from tests.adversary.test_found import FOUND
from tests.adversary.test_sleepers import frozen_copy
from tests.adversary.worlds import script_of
from tests.protocol.checker import CHECKER, build, check, hold
from tests.protocol.traces import recorded_seeds, trace_of

SEEDS = list(recorded_seeds(range(24)))
FROZEN = "frozen-while-it-kept-what-a-sync-deletes"
BY_NAME = {path.stem: from_json(path.read_text(encoding="utf-8")) for path in FOUND}


@pytest.fixture(scope="module", autouse=True)
def checker() -> None:
    """The checker as it is now. It needs cargo and its crates: where nobody built it, the tests are left out."""
    is_required = os.environ.get("FANOUT_MODEL") == "required"
    if not is_required and not CHECKER.exists():
        pytest.skip("`make model` has not built the checker yet")
    assert build(), "the checker could not be built"


def trace(script: Script, directory: Path) -> Path:
    """The trace of a script, in a file."""
    file = directory / "trace.jsonl"
    file.write_text(trace_of(script, directory / "lab"), encoding="utf-8")
    return file


@pytest.mark.parametrize("seed", SEEDS)
def test_each_event_of_a_real_run_is_a_step_of_the_protocol(seed: int, tmp_path: Path) -> None:
    well, said = hold([trace(script_of(seed), tmp_path)])
    assert well, f"{said}\nthe whole trace: python -m tests.protocol --seed {seed}"


@pytest.mark.parametrize("name", [FROZEN, "rolled-back-behind-a-clock", "name-linked-again"])
def test_so_are_those_of_a_script_that_once_found_a_break(name: str, tmp_path: Path) -> None:
    well, said = hold([trace(BY_NAME[name], tmp_path)])
    assert well, said


@pytest.mark.parametrize(
    ("without", "refused"),
    [
        ("take_turn", "writers"),
        ("stage", "mark_fenced"),
        ("fence", "mark_fenced"),
        ("mark_fenced", "list"),
        ("list", "partition"),
        ("place", "stands"),
        ("look", "unlink"),
        ("look_at_entry", "unlink"),
        ("unlink", "stands"),
        ("unstage", "leave"),
    ],
)
def test_a_trace_that_lacks_a_step_is_refused(without: str, refused: str, tmp_path: Path) -> None:
    file = trace(BY_NAME[FROZEN], tmp_path)
    events = file.read_text(encoding="utf-8").splitlines()
    left = [line for line in events if without not in json.loads(line)]
    assert len(left) < len(events)
    file.write_text("\n".join(left), encoding="utf-8")
    well, said = hold([file])
    assert not well
    assert f'no step: {{"{refused}"' in said


def test_a_product_that_fences_nobody_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Staging, "fence", lambda *_: NotedRemoval(removed=False))
    well, said = hold([trace(BY_NAME[FROZEN], tmp_path)])
    assert not well
    assert "mark_fenced" in said


def test_a_product_that_does_not_look_at_its_right_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FencingToken, "look", lambda _: None)
    well, said = hold([trace(BY_NAME[FROZEN], tmp_path)])
    assert not well
    assert "unlink" in said


@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
def test_a_copy_that_wakes_up_late_is_a_step_of_the_protocol(short: bool, tmp_path: Path) -> None:
    file = trace(frozen_copy(15, short=short), tmp_path)
    assert "end_copies" in file.read_text(encoding="utf-8")
    well, said = hold([file])
    assert well, said


def test_a_product_that_lets_a_late_copy_go_on_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Staging, "end_copies", lambda staging: staging.token.end_copies())  # the mark alone
    monkeypatch.setattr(FencingToken, "_after_making", lambda *_: None)
    well, said = hold([trace(frozen_copy(15, short=False), tmp_path)])
    assert not well
    assert "place" in said


def test_a_break_is_found_where_its_mend_is_taken_out() -> None:
    alias = "a move between two names of one place"
    assert check("explore", alias)[0]
    well, said = check("breaks", "MarkOfPlace")
    assert well
    assert f"promise 14 breaks after 14 steps ({alias})" in said
