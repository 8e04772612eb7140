"""CheckMount that refuses the run late: another attempt let it list meanwhile, and its right to write stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.model.errors import InvalidRequest
from fanout.planning import check_mount as module
from fanout.planning.check_mount import check_mount
from fanout.request.plan import Plan
from fanout.work.context import Context
from tests.support.flow import World
from tests.support.mounts import world_of

REQUEST = {"source": "efs:///in", "destination": "efs:///out"}
STAGED = ".fanout-staging-run-1"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/f").write_bytes(b"x")
    world = world_of(tmp_path)
    world.walk("PlanTransfer", REQUEST, "Skipped", "OneSegment?")
    assert (tmp_path / "out" / STAGED).is_dir()
    yield world


def refused(world: World, monkeypatch: pytest.MonkeyPatch, *, listed_meanwhile: bool) -> None:
    """A CheckMount of the short way, whose ledger is kept from its first read on, ends as InvalidRequest."""
    late = world.context("CheckMount")
    late = replace(late, ledger=late.ledger.kept())
    list(late.ledger.keys(""))

    def refuse(_plan: Plan, _context: Context) -> None:
        if listed_meanwhile:
            world.ledger.write_json(f"{keys.SEGMENTS_DONE}0001-000000.json", {})
        raise InvalidRequest("source", "it holds nothing", "check it")

    monkeypatch.setattr(module, "_check", refuse)
    with pytest.raises(InvalidRequest):
        check_mount(late)


def test_the_right_to_write_stays_where_another_attempt_let_the_run_list(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(world, monkeypatch, listed_meanwhile=True)
    assert (tmp_path / "out" / STAGED).is_dir()


def test_it_goes_where_nothing_was_listed(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(world, monkeypatch, listed_meanwhile=False)
    assert not (tmp_path / "out" / STAGED).exists()
