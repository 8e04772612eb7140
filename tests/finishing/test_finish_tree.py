"""FinishTree on trees that one function cannot finish in its time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.finish_directories import DIRECTORIES_SET, Position
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest, ItemError, Superseded, Transient
from fanout.model.outcome import Reason
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.mounts import fill, reasons
from tests.support.mounts import world_of as mounts_world

SPLIT = {"source": "s3://a-bucket/in/", "destination": "efs:///copy", "limits": {"split_bytes": 8 * 1024 * 1024}}
INSIDE = {"source": "efs:///in", "destination": "efs:///out", "limits": {"shard_seconds": 1}}


class Recorder(MemoryTree):
    """Notes in which order directories are set, and finds some of them impossible to."""

    def __init__(self, impossible: frozenset[str] = frozenset(), changes: Iterator[int] | None = None) -> None:
        super().__init__(changes)
        self.impossible = impossible
        self.set_in_order: list[tuple[str, int | None]] = []
        self.takes: Callable[[], None] = lambda: None

    def set_attributes(self, entry: Entry, attributes: Attributes, *, is_closed: bool = True) -> None:
        """Note it, or fail."""
        if entry.path in self.impossible:
            raise ItemError(Reason.DESTINATION_DENIED, "not yours")
        self.takes()
        self.set_in_order.append((entry.path, attributes.mode))
        super().set_attributes(entry, attributes, is_closed=is_closed)


def slow(world: World, reads: float) -> World:
    """The same run with a clock by which a task has time for about ``reads`` looks at it."""
    world.clock = ManualClock(step=900.0 / reads)
    return world


def with_big_files(number: int) -> World:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for index in range(number):
        world.source.put(f"d{index}/big", Kind.FILE, bytes([index]) * (8 * 1024 * 1024 + index))
    world.list_all(world.plan(SPLIT))
    world.copy_all()
    return world


def test_big_files_are_completed_by_as_many_tasks_as_it_takes() -> None:
    world = with_big_files(40)
    tasks = slow(world, 12).finish_all()
    assert tasks > 2
    world.clock.step = 0.0
    summary = world.end()
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["entries"] == 40
    assert isinstance(world.destination, MemoryTree)
    assert world.destination.unfinished_blocks() == 0
    assert {len(stored.data) for stored in world.destination.contents().values() if stored.data} == {
        8 * 1024 * 1024 + index for index in range(40)
    }


def test_directories_are_set_by_as_many_tasks_as_it_takes(tmp_path: Path) -> None:
    for index in range(15):
        directory = tmp_path / f"in/d{index}"
        directory.mkdir(parents=True)
        (directory / "f").write_bytes(b"x")
        os.utime(directory, ns=(10**18, 10**18 + index))
    world = World(source=PosixTree(tmp_path, "in", "run-1", "n"), destination=PosixTree(tmp_path, "out", "run-1", "n"))
    world.list_all(world.plan(INSIDE))
    world.copy_all()
    # One file of made directories for each of many tasks.
    rows = [row for key in world.ledger.keys("directories/") for row in world.ledger.read_rows(key)]
    for number, row in enumerate(row for row in rows if not row.get("place")):
        world.ledger.write_rows(f"directories/one-{number:04d}.jsonl.gz", [row])
    assert slow(world, 6).finish_all() > 3
    found = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    assert found == {f"d{index}": 10**18 + index for index in range(15)}


def test_directories_that_can_not_be_passed_are_set_last_and_deepest_first() -> None:
    modes = {"a/": 0o040500, "a/b/": 0o040755, "a/b/c/": 0o040400, "z/": 0o040755}
    world = World(destination=Recorder())
    assert isinstance(world.source, MemoryTree)
    for path, mode in modes.items():
        world.source.put(path, Kind.DIRECTORY, attributes=Attributes(mode=mode))
    world.run()
    assert isinstance(world.destination, Recorder)
    order = [path for path, _ in world.destination.set_in_order]
    assert sorted(order[:2]) == ["a/b/", "z/"]
    assert order[2:] == ["a/b/c/", "a/"]


def test_the_last_pass_has_a_task_of_its_own_where_the_time_is_used() -> None:
    """It reads all files of directories again, which of very many takes minutes."""
    world = World(destination=Recorder())
    assert isinstance(world.source, MemoryTree) and isinstance(world.destination, Recorder)
    world.source.put("a/", Kind.DIRECTORY, attributes=Attributes(mode=0o040500))
    world.source.put("b/", Kind.DIRECTORY, attributes=Attributes(mode=0o040755))
    world.list_all(world.plan())
    world.copy_all()
    world.destination.takes = lambda: world.clock.sleep(1_000.0)
    assert finish_tree(world.context())["done"] is False
    assert [path for path, _ in world.destination.set_in_order] == ["b/"]
    assert finish_tree(world.context())["done"] is True
    assert [path for path, _ in world.destination.set_in_order] == ["b/", "a/"]


def test_directories_that_can_not_be_set_are_counted_once_however_often_it_is_tried() -> None:
    changes = itertools.count(1)
    world = World(changes, destination=Recorder(frozenset({"a/", "b/"}), changes))
    assert isinstance(world.source, MemoryTree)
    for path in ("a/", "b/", "c/"):
        world.source.put(path, Kind.DIRECTORY, attributes=Attributes(mode=0o040755))
    world.list_all(world.plan())
    world.copy_all()
    finish_tree(world.context())
    world.ledger.write(DIRECTORIES_SET, Position(0))
    finish_tree(world.context())
    summary = world.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["notes"][:1] == [
        f"the attributes of 2 directories could not be set: {Reason.DESTINATION_DENIED.value}"
    ]
    rows = [(row["path"], row["phase"], row["reason"]) for row in world.ledger.read_rows("failures.jsonl")]
    assert rows == [(path, "finish", Reason.DESTINATION_DENIED.value) for path in ("a/", "b/")]


def test_a_task_that_can_do_nothing_in_its_time_is_no_progress() -> None:
    world = slow(with_big_files(1), 2)
    with pytest.raises(Transient, match="nothing could be finished"):
        finish_tree(world.context())


def test_a_task_whose_window_closes_before_it_finished_anything_leaves_all_to_the_next() -> None:
    world = slow(with_big_files(1), 2)
    assert not finish_tree(replace(world.context(), cut_short=True))["done"]


@given(sizes=st.lists(st.integers(0, 5), max_size=12), reads=st.integers(4, 40), data=st.data())
def test_whatever_the_time_of_a_task_each_directory_is_set(sizes: list[int], reads: int, data: Any) -> None:
    world = World(destination=Recorder())
    assert isinstance(world.destination, Recorder)
    world.list_all(world.plan())
    partition_shards(world.context())
    expected = {}
    for number, size in enumerate(sizes):
        rows = []
        for index in range(size):
            path = f"d{number}/" * data.draw(st.integers(1, 3)) + f"e{index}/"
            expected[path] = data.draw(st.sampled_from([0o040755, 0o040700, 0o040555, 0o040000]))
            row = {"path": path, "mode": expected[path], "uid": 0, "gid": 0, "mtime_ns": 1, "atime_ns": 1}
            rows.append(row)
            world.destination.put(path, Kind.DIRECTORY)
        world.ledger.write_rows(f"directories/s{number:02d}.jsonl.gz", rows)
    slow(world, reads).finish_all()
    assert dict(world.destination.set_in_order) == expected


def swapped(mount: Path, kind: str) -> Path:
    """Another client puts a symlink or a file in place of the run's staging directory."""
    staging = mount / "out/.fanout-staging-run-1"
    outside = mount / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    if staging.exists():
        staging.rename(mount / "out/taken-away")
    if kind == "link":
        staging.symlink_to(outside)
    elif kind == "dangling":
        staging.symlink_to(mount / "nothing")
    else:
        staging.write_text("a file of somebody else")
    return staging


KINDS = ["link", "dangling", "file"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_staging_directory_that_was_swapped_before_the_end_is_left_alone_with_a_note(
    tmp_path: Path, kind: str
) -> None:
    fill(tmp_path, "a/f", "b/f")
    world = mounts_world(tmp_path)
    world.list_all(world.plan(INSIDE))
    world.copy_all()
    staging = swapped(tmp_path, kind)
    assert world.finish_all() == 1
    summary = world.end()
    assert summary["status"] == "SUCCEEDED"
    [note] = summary["notes"]
    assert note.startswith("/out/.fanout-staging-run-1 is no directory any more")
    assert os.path.lexists(staging)
    assert (tmp_path / "outside/precious").read_text() == "precious"
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["precious"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_whose_staging_directory_was_swapped_before_the_copy_writes_nothing(tmp_path: Path, kind: str) -> None:
    source = fill(tmp_path, "a/f", "b/f")
    (source / "link").symlink_to("a")
    world = mounts_world(tmp_path)
    world.list_all(world.plan(INSIDE))
    world.destination.close()
    staging = swapped(tmp_path, kind)
    with pytest.raises(Superseded):
        world.copy_all()
    assert world.finish_all() == 1
    world.end()
    assert set(reasons(world).values()) == {"the shard failed"}
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["precious"]
    assert os.path.lexists(staging)
    assert not (tmp_path / "out/link").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_begins_where_something_else_has_its_staging_directorys_name(tmp_path: Path, kind: str) -> None:
    fill(tmp_path, "f")
    (tmp_path / "out").mkdir()
    swapped(tmp_path, kind)
    world = mounts_world(tmp_path)
    with pytest.raises(InvalidRequest, match="destination"):
        world.plan(INSIDE)
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["precious"]


def test_what_was_left_of_a_resumed_run_and_swapped_is_left_alone_too(tmp_path: Path) -> None:
    fill(tmp_path, "f")
    first = mounts_world(tmp_path)
    first.list_all(first.plan(INSIDE))
    swapped(tmp_path, "link")
    second = mounts_world(tmp_path, "run-2")
    second.store, second.clock, second.nonces = first.store, first.clock, first.nonces
    summary = second.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED"
    assert (tmp_path / "outside/precious").exists()
