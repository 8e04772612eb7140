"""Two runs whose roots lie in each other, under the names of two mounts of one file system: one of them gives way."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.listing.list_segment import list_segment
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import DestinationBusy
from fanout.model.segment import Segment
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.turns.write_turn import WriteTurns
from tests.contract.test_write_turns import Known
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

MOUNTS = ("data", "archive")
# What each mount shows below the directory of the test.
SHOWN = {"data": "", "archive": "a"}


class Runs:
    """Runs of one stack, whose second mount shows a directory of the first."""

    def __init__(self, base: Path) -> None:
        self.base, self.store, self.going = base, MemoryStore(), {"arn:one", "arn:two"}
        (base / "a/b").mkdir(parents=True)

    def begin(self, run_id: str, destination: str, mode: str = "copy") -> tuple[World, Json]:
        """PlanTransfer; the run that it returns has its turn, and has staged nothing."""
        mount, _, path = destination.removeprefix("efs://").partition("/")
        source = MemoryTree()
        source.put("file", Kind.FILE, b"content")
        tree = PosixTree(self.base / SHOWN[mount], path, run_id, "n")
        turns = WriteTurns(self.store, Known(self.going), ManualClock(), MOUNTS)
        world = World(source=source, destination=tree, store=self.store, run_id=run_id, turns=turns)
        request = {"source": f"s3://bucket/{run_id}/", "destination": destination, "mode": mode}
        return world, plan_transfer(request, world.context(), MOUNTS, 10, "work", execution=f"arn:{run_id}")

    def listed(self, world: World, state: Json) -> None:
        """ListSegment of the whole tree."""
        for row in world.ledger.read_json(state["list"]["key"].removeprefix(world.ledger.prefix)):
            list_segment(convert(row, Segment), world.context())


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.parametrize("versions", ["", "versions/"])
def test_a_run_below_another_ones_root_gives_way(runs: Runs, versions: str) -> None:
    world, _ = runs.begin("one", "efs://archive/")
    check_mount(world.context())
    staged = runs.base / "a/.fanout-staging-one"
    if versions:  # a run that publishes stages there
        (runs.base / "a/versions").mkdir()
        staged.rename(runs.base / "a/versions" / staged.name)
    second, _ = runs.begin("two", "efs://data/a/b")
    with pytest.raises(DestinationBusy, match="the run one"):
        check_mount(second.context())
    assert not list((runs.base / "a/b").glob(".fanout*"))


@pytest.mark.parametrize("mode", ["copy", "sync"])
def test_a_run_above_another_ones_root_gives_way_as_it_lists(runs: Runs, mode: str) -> None:
    world, _ = runs.begin("one", "efs://archive/b")
    check_mount(world.context())
    second, state = runs.begin("two", "efs://data/a", mode)
    check_mount(second.context())
    with pytest.raises(DestinationBusy, match="the run one"):
        runs.listed(second, state)
    assert (runs.base / "a/b/.fanout-staging-one").is_dir()


def test_what_a_run_left_that_has_ended_is_in_nobodys_way(runs: Runs) -> None:
    world, _ = runs.begin("one", "efs://archive/b")
    check_mount(world.context())
    runs.going.discard("arn:one")
    second, state = runs.begin("two", "efs://data/a")
    check_mount(second.context())
    runs.listed(second, state)


def test_a_run_beside_another_ones_root_goes_on(runs: Runs) -> None:
    world, _ = runs.begin("one", "efs://archive/b")
    check_mount(world.context())
    second, state = runs.begin("two", "efs://data/c")
    check_mount(second.context())
    runs.listed(second, state)
