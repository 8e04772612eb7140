"""Whom a run fences: those whose turn it takes, those that they had to fence, and whoever staged at its root."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix import removal
from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import AccessDenied, DestinationBusy, Superseded, Transient
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.ports.turns import Fence
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import WriteTurns, writers_from_bytes
from tests.support.flow import World
from tests.support.memory_store import MemoryStore
from tests.support.mounts import noted
from tests.support.nobody import as_nobody, open_directory

LIST = "locks/mounts/data.json"
MOUNTS = ("data", "alias")
SOURCE = "s3://a-bucket/tree/"


@dataclass
class Stack:
    """Runs over one mount and one work bucket."""

    mount: Path
    store: MemoryStore = field(default_factory=MemoryStore)
    going: set[str] = field(default_factory=set)

    def running(self, execution: str) -> bool:
        return execution in self.going

    def planned(self, run_id: str, path: str = "out", **request: Any) -> World:
        """A run after PlanTransfer, with its turn."""
        world = World(destination=PosixTree(self.mount, path, run_id, "n"), store=self.store, run_id=run_id)
        world.turns = WriteTurns(self.store, self, world.clock, MOUNTS)
        self.going.add(run_id)
        whole: Json = {"source": SOURCE, "destination": f"efs:///{path}", **request}
        plan_transfer(whole, world.context(), MOUNTS, 10, "work", execution=run_id)
        return world

    def begun(self, run_id: str, path: str = "out", **request: Any) -> World:
        """The same after CheckMount."""
        world = self.planned(run_id, path, **request)
        check_mount(world.context())
        return world

    def named(self, run_id: str) -> World:
        """A run that copies what a manifest names, beside others."""
        world = World(destination=PosixTree(self.mount, "out", run_id, "n"), store=self.store, run_id=run_id)
        world.turns = WriteTurns(self.store, self, world.clock)
        world.objects.put("a-bucket", "list.csv", b"path\nfile\n")
        self.going.add(run_id)
        request = {"source": SOURCE, "destination": "efs:///out", "manifest": "s3://a-bucket/list.csv"}
        plan_transfer(request | {"exclude": [run_id]}, world.context(), ("data",), 10, "work", execution=run_id)
        return world

    def stop(self, run_id: str) -> None:
        self.going.discard(run_id)

    def staged(self) -> set[str]:
        return {path.name.removeprefix(".fanout-staging-") for path in self.mount.rglob(".fanout-staging-*")}

    def listed(self) -> dict[str, tuple[Fence, ...]]:
        return {one.run_id: one.fences for one in writers_from_bytes(self.store.read_version(LIST).data)}


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


@pytest.mark.parametrize("path", ["out", "out/below/it", ""])
def test_a_stopped_run_is_fenced_wherever_it_stages(stack: Stack, path: str) -> None:
    stack.begun("stopped", "out/below")
    stack.stop("stopped")
    stack.begun("next", path)
    assert stack.staged() == {"next"}


def test_a_run_elsewhere_that_was_stopped_is_fenced_by_the_one_that_takes_it_out(stack: Stack) -> None:
    stack.begun("stopped", "elsewhere")
    stack.stop("stopped")
    stack.begun("next")
    assert (stack.staged(), set(stack.listed())) == ({"next"}, {"next"})


def test_a_run_that_goes_on_elsewhere_is_left_alone(stack: Stack) -> None:
    stack.begun("other", "elsewhere")
    stack.begun("next")
    assert stack.staged() == {"other", "next"}


def test_a_run_that_goes_on_in_the_same_directory_under_another_mounts_name_is_not_fenced(stack: Stack) -> None:
    stack.begun("other", destination="efs://alias/out")
    with pytest.raises(DestinationBusy, match=r"the run other .* writes there"):
        stack.begun("next")
    assert stack.staged() == {"other"}, "and the one that was refused leaves nothing"


def test_a_run_that_was_stopped_there_is_fenced(stack: Stack) -> None:
    stack.begun("stopped", destination="efs://alias/out")
    stack.stop("stopped")
    stack.begun("next")
    assert stack.staged() == {"next"}


def test_one_that_began_there_after_the_plan_is_not_fenced(stack: Stack) -> None:
    world = stack.planned("next")
    stack.begun("other", destination="efs://alias/out")
    with pytest.raises(DestinationBusy):
        check_mount(world.context())
    assert stack.staged() == {"other"}


def test_a_run_on_another_mount_that_shows_another_directory_goes_on(stack: Stack) -> None:
    stack.begun("other", "elsewhere", destination="efs://alias/out")
    stack.begun("next")
    assert stack.staged() == {"other", "next"}


def test_a_run_that_dies_before_it_fences_hands_the_duty_on(stack: Stack) -> None:
    stack.begun("first", "out/below")
    stack.stop("first")
    stack.planned("second")
    stack.stop("second")
    assert stack.listed() == {"second": (Fence("out/below/", "first"),)}
    stack.planned("third", "out")
    assert set(stack.listed()["third"]) == {Fence("out/below/", "first"), Fence("out/", "second")}
    stack.stop("third")
    stack.begun("fourth", "elsewhere")
    assert stack.staged() == {"fourth"}


def test_another_attempt_of_the_plan_keeps_whom_the_first_was_to_fence(stack: Stack) -> None:
    stack.begun("stopped", "out/below")
    stack.stop("stopped")
    stack.planned("next")
    world = stack.planned("next")
    assert stack.listed() == {"next": (Fence("out/below/", "stopped"),)}
    check_mount(world.context())
    assert stack.staged() == {"next"}


def test_a_list_that_was_lost_fences_whoever_staged_at_the_root(stack: Stack) -> None:
    stack.begun("stopped")
    stack.store.remove([LIST])
    stack.begun("next")
    assert stack.staged() == {"next"}


def test_runs_beside_each_other_are_spared_also_one_that_came_later(stack: Stack) -> None:
    first = stack.named("first")
    second = stack.named("second")
    check_mount(second.context())
    check_mount(first.context())
    assert stack.staged() == {"first", "second"}


def test_of_runs_beside_each_other_one_that_was_stopped_is_fenced(stack: Stack) -> None:
    check_mount(stack.named("first").context())
    stack.stop("first")
    check_mount(stack.named("second").context())
    assert (stack.staged(), set(stack.listed())) == ({"second"}, {"second"})


def test_an_attempt_of_check_mount_that_comes_late_makes_nothing_and_fences_nobody(stack: Stack) -> None:
    late = stack.planned("stopped")
    stack.stop("stopped")
    stack.begun("next")
    with pytest.raises(Superseded):
        check_mount(late.context())
    assert stack.staged() == {"next"}


def test_a_run_that_ended_takes_itself_out_with_all_that_it_owed(stack: Stack) -> None:
    stack.begun("stopped", "out/below")
    stack.stop("stopped")
    world = stack.begun("next")
    world.list_all({"list": world.ledger.read_json("segments/round-0001.json") and first_round(world)})
    partition_shards(world.context())
    finish_tree(world.context())
    summarise_transfer(None, world.context())
    assert (stack.listed(), stack.staged()) == ({}, set())


def first_round(world: World) -> Json:
    return {"round": 1, "count": 1, "key": f"{world.ledger.prefix}segments/round-0001.json", "max_concurrency": 1}


def test_a_run_whose_staging_directory_stays_stays_in_the_list(stack: Stack) -> None:
    """FinishTree failed for good: the next run fences it, though it wrote its summary."""
    world = stack.begun("next")
    summarise_transfer({"Error": "States.Timeout", "Cause": ""}, world.context())
    assert set(stack.listed()) == {"next"}
    stack.stop("next")
    stack.begun("following", "out/below")
    assert stack.staged() == {"following"}


def test_a_directory_that_can_not_be_removed_fails_the_run_that_writes_there_and_no_other() -> None:
    with open_directory() as mount:
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)
        for path in ("out", "elsewhere"):
            (mount / path / ".fanout-staging-lost").mkdir(parents=True)
            (mount / path / ".fanout-staging-lost/file").write_text("half")

        def attempt() -> list[Any]:
            tree = PosixTree(mount, "out", "next", "n")
            tree.check(writing=True)
            made_by = noted(mount / "elsewhere/.fanout-staging-lost", mount / "out/.fanout-staging-lost")
            reached = tree.fence([Fence("elsewhere/", "lost")], lambda: {"lost"}, made_by=made_by).whole
            try:
                return [reached, tree.fence([Fence("out/", "lost")], frozenset, made_by=made_by).whole]
            except AccessDenied as error:
                return [reached, str(error)]

        reached, said = as_nobody(attempt)
    assert reached is False
    assert "the run lost" in said and "/out/" in said


def test_a_function_that_does_not_stop_writing_fails_the_check_for_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = PosixTree(tmp_path, "out", "next", "n")
    tree.check(writing=True)
    (tmp_path / "out/.fanout-staging-lost").mkdir()
    monkeypatch.setattr(removal, "REMOVAL_SECONDS", 0.1)
    monkeypatch.setattr(removal, "_is_gone", lambda *_: False)
    with pytest.raises(Transient, match="has not ended"):
        tree.fence([], frozenset, made_by=noted(tmp_path / "out/.fanout-staging-lost"))


def test_nobody_is_fenced_behind_a_symlink_or_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "real/.fanout-staging-lost").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    tree = PosixTree(tmp_path, "out", "next", "n")
    tree.check(writing=True)
    places = [Fence(place, "lost") for place in ("link/", "gone/", "file/", "out/")]
    made_by = noted(tmp_path / "real/.fanout-staging-lost")
    assert tree.fence(places, frozenset, made_by=made_by) == (True, ())
    assert (tmp_path / "real/.fanout-staging-lost").is_dir()


def test_finish_tree_may_come_again_when_all_is_withdrawn(stack: Stack) -> None:
    world = stack.begun("next")
    for _ in range(2):
        assert finish_tree(world.context())["done"]
    assert stack.staged() == set()
    assert remove_directories(world.context())["done"]


def test_an_attempt_beside_the_one_that_withdrew_is_done_too(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    world = stack.begun("next")

    def beside(*_: Any, **__: Any) -> Any:
        monkeypatch.undo()
        finish_tree(world.context())
        raise Superseded("next")

    monkeypatch.setattr("fanout.finishing.finish_tree.assemble_big_files", beside)
    assert finish_tree(world.context())["done"]
    monkeypatch.setattr("fanout.deleting.remove_directories.finish_directories", beside)
    assert remove_directories(world.context())["done"]


def test_a_run_whose_staging_directory_somebody_removed_fails_and_says_so(stack: Stack) -> None:
    world = stack.begun("next")
    shutil.rmtree(stack.mount / "out/.fanout-staging-next")
    with pytest.raises(Superseded, match="the run next writes nothing more"):
        world.destination.create(Entry("f", Kind.FILE, 1), Attributes())


def test_a_root_that_cannot_be_looked_at_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = Stack(tmp_path).planned("run-1")

    def refuse(_directory: int) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(Transient, match=r"looking (for other runs|into)"):
        check_mount(world.context())
