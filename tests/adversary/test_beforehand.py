"""A local user has a directory at the destination before the run, or reads in one whose source was closed since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.fencing import closing
from fanout.adapters.posix.fencing.closing import Closing
from fanout.adapters.posix.fencing.fencing_token import FencingToken
from tests.adversary.beforehand import CLOSE_VAULT, MAKE_VAULT, OPEN_VAULT, VAULT
from tests.adversary.runner import carry_out
from tests.adversary.scene import Outcome
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Script, Spec
from tests.adversary.services import Services
from tests.adversary.worlds import script_of

SOURCE = (Spec("a/f", size=900, seed=1), Spec("d/e/g", size=60_000, seed=2))
DIRECTIONS = [S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS]
CLOSED = Act("change", change=Change(CLOSE_VAULT, VAULT, 7))
OPENED = Act("change", change=Change(OPEN_VAULT, VAULT, 7))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the files of a plain user are his own")


def made(seed: int) -> Change:
    return Change(MAKE_VAULT, VAULT, seed, "destination")


def carried_out(
    direction: str, acts: tuple[Act, ...], base: Path, *, short: bool = False, services: Services | None = None
) -> Outcome:
    whole = (*acts, Act("run", "last"))
    return carry_out(Script(0, direction, SOURCE, (), whole, short=short, services=services or Services()), base)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_what_he_makes_before_the_run_is_not_his_when_a_file_is_put_into_it(
    direction: str, seed: int, tmp_path: Path
) -> None:
    outcome = carried_out(direction, (CLOSED, Act("change", change=made(seed))), tmp_path / "x", short=bool(seed % 2))
    assert outcome.findings == []
    assert outcome.statuses == [("last", "SUCCEEDED")]


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("seed", [0, 2, 13, 15])
def test_nor_where_the_stack_refuses_the_owner_that_an_object_names(seed: int, short: bool, tmp_path: Path) -> None:
    acts = (CLOSED, Act("change", change=made(seed)))
    outcome = carried_out(S3_TO_MOUNT, acts, tmp_path / "x", short=short, services=Services(no_owners=True))
    assert outcome.findings == []
    assert outcome.statuses == [("last", "SUCCEEDED")]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_nor_what_he_makes_while_it_copies(direction: str, tmp_path: Path) -> None:
    copies = "unpack/any" if direction == TWO_MOUNTS else "copy/any"
    for at in (1, 9, 20, 37, 65, 80):
        acts = CLOSED, Act("run", "r1", faults=(Fault(copies, at, "change", change=made(at)),))
        outcome = carried_out(direction, acts, tmp_path / str(at))
        assert outcome.findings == []
        assert outcome.statuses[-1] == ("last", "SUCCEEDED")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_that_was_open_is_closed_before_what_is_private_comes(direction: str, tmp_path: Path) -> None:
    for at in (0, 20, 65):
        faults = (Fault("copy/any", at, "stop"),) if at else ()
        acts = OPENED, Act("run", "r1"), CLOSED, Act("run", "r2", faults=faults)
        outcome = carried_out(direction, acts, tmp_path / str(at))
        assert outcome.findings == []
        assert outcome.statuses[-1] == ("last", "SUCCEEDED")


@pytest.mark.parametrize("acts", [(CLOSED, Act("change", change=made(0))), (OPENED, Act("run", "r1"), CLOSED)])
def test_a_product_that_closes_nothing_is_found(
    acts: tuple[Act, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Closing, "close", lambda *_: None)
    assert carried_out(WITHIN_MOUNT, acts, tmp_path / "x").kinds >= {"opened for a local user"}


def test_a_product_that_leaves_his_access_lists_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_remove_lists", lambda _place: None)
    acts = (CLOSED, Act("change", change=made(8)))
    assert carried_out(WITHIN_MOUNT, acts, tmp_path / "x").kinds >= {"opened for a local user"}


def test_a_product_that_leaves_what_a_refused_owner_would_have_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FencingToken, "owner_of_all", lambda _self: None)
    acts, refuses = (CLOSED, Act("change", change=made(0))), Services(no_owners=True)
    assert carried_out(S3_TO_MOUNT, acts, tmp_path / "x", services=refuses).kinds >= {"opened for a local user"}


def test_seeds_draw_each() -> None:
    scripts = [script_of(seed) for seed in range(300)]
    acts = [act for script in scripts for act in script.acts]
    faults = [fault for script in scripts for fault in script.faults()]
    changes = [*(one.change for one in acts), *(one.change for one in faults)]
    assert {CLOSE_VAULT, OPEN_VAULT, MAKE_VAULT} <= {one.what for one in changes if one is not None}
