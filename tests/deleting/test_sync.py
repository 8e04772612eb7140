"""mode: sync: what is extra is deleted, last, within the guard, and nothing else ever is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.remove_directories import remove_directories
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.columns import Listed, one_by_one
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import DeleteRefused, InvalidRequest, ListingIncomplete
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.partition.partition_shards import partition_shards
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import world_of
from tests.support.syncs import KEEP, SYNC, extended, listed, names, write


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    return extended(tmp_path)


def test_extras_are_deleted_and_both_trees_are_equal(mount: Path) -> None:
    summary = world_of(mount).run(SYNC)
    assert summary["status"] == "SUCCEEDED", summary
    assert names(mount / "out") == names(mount / "in")
    assert summary["totals"]["deleted"]["entries"] == 9
    assert summary["totals"]["listed"]["entries"] == 21
    assert summary["balanced"]
    assert Path("/etc/passwd").exists()
    again = world_of(mount, "run-2").run(SYNC)
    assert again["totals"]["deleted"]["entries"] == 0
    assert again["status"] == "SUCCEEDED"


def test_a_copy_deletes_nothing(mount: Path) -> None:
    before = names(mount / "out")
    summary = world_of(mount).run({**SYNC, "mode": "copy"})
    assert summary["totals"]["deleted"]["entries"] == 0
    assert names(mount / "out") == before


def test_the_attributes_of_a_directory_stay_those_of_the_source_when_extras_leave_it(mount: Path) -> None:
    world_of(mount).run({**SYNC, "mode": "copy"})
    os.utime(mount / "in/keep", ns=(5, 1_600_000_000_123_456_789))
    world_of(mount, "run-2").run(SYNC)
    assert (mount / "out/keep").stat().st_mtime_ns == 1_600_000_000_123_456_789
    write(mount / "out", "keep/extra")
    world_of(mount, "run-3").run(SYNC)
    assert not (mount / "out/keep/extra").exists()
    assert (mount / "out/keep").stat().st_mtime_ns == 1_600_000_000_123_456_789


@pytest.mark.parametrize("cut_after", [1, 2, 3, 7])
def test_cut_listings_find_the_same(mount: Path, monkeypatch: pytest.MonkeyPatch, cut_after: int) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", cut_after)
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 2)
    summary = world_of(mount).run(SYNC)
    assert summary["totals"]["deleted"]["entries"] == 9
    assert names(mount / "out") == names(mount / "in")


@pytest.mark.parametrize(
    ("guard", "part"),
    [({}, "max_percent"), ({"max_percent": 99.0, "max_count": 8}, "max_count 8")],
)
def test_over_the_guard_nothing_is_copied_or_deleted(mount: Path, guard: Json, part: str) -> None:
    write(mount / "in", "new")
    before = names(mount / "out")
    world = listed(mount, {**SYNC, "delete_guard": guard})
    with pytest.raises(DeleteRefused, match=part):
        partition_shards(world.context())
    finish_tree(world.context())
    answer = summarise_transfer({"Error": "DeleteRefused", "Cause": "over the guard"}, world.context())
    assert (answer["status"], answer["error"]) == ("FAILED", "DeleteRefused")
    assert names(mount / "out") == before


@pytest.mark.parametrize("extras", [("x",), ()])
def test_an_empty_source_is_refused_whatever_the_guard(tmp_path: Path, extras: tuple[str, ...]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", *extras)
    world = listed(tmp_path, {**SYNC, "delete_guard": {"max_percent": 100.0}})
    with pytest.raises(DeleteRefused, match="the source holds nothing"):
        partition_shards(world.context())


def test_a_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "out", "x")
    with pytest.raises(InvalidRequest, match="in"):
        world_of(tmp_path).plan(SYNC)
    assert names(tmp_path / "out") == {"x"}


def test_never_all(tmp_path: Path) -> None:
    write(tmp_path / "in", "new")
    write(tmp_path / "out", "x", "y")
    world = listed(tmp_path, {**SYNC, "delete_guard": {"max_percent": 100.0}})
    with pytest.raises(DeleteRefused, match="all of them"):
        partition_shards(world.context())


class BrokenSource(PosixTree):
    """A source whose listing breaks off half-way."""

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        for number, entry in enumerate(one_by_one(super().list_columns(segment, prunes))):
            if number == 5:
                raise ListingIncomplete("EACCES")
            yield entry


def test_a_listing_that_breaks_off_deletes_nothing(mount: Path) -> None:
    before = names(mount / "out")
    world = world_of(mount)
    world.source = BrokenSource(mount, "in", "run-1", "source", "source")
    with pytest.raises(ListingIncomplete):
        world.list_all(world.plan(SYNC))
    finish_tree(world.context())
    assert summarise_transfer({"Error": "States.ItemReaderFailed", "Cause": ""}, world.context())["status"] == "FAILED"
    assert names(mount / "out") == before


class UnlistableSource(PosixTree):
    """A source with a directory that cannot be read, whoever reads it."""

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        for entry in one_by_one(super().list_columns(segment, prunes)):
            if entry.path == "keep/":
                yield Entry(entry.path, Kind.UNLISTABLE, 0, entry.mtime_ns, entry.changed_ns)
            elif not entry.path.startswith("keep/"):
                yield entry


def test_a_directory_that_can_not_be_listed_deletes_nothing(mount: Path) -> None:
    write(mount / "in", "another")
    before = names(mount / "out")
    world = world_of(mount)
    world.source = UnlistableSource(mount, "in", "run-1", "source", "source")
    world.list_all(world.plan(SYNC))
    with pytest.raises(DeleteRefused, match="could not be listed"):
        partition_shards(world.context())
    finish_tree(world.context())
    assert names(mount / "out") == before


def test_an_entry_that_is_not_copied_keeps_every_extra(mount: Path) -> None:
    write(mount / "in", "vanishes")
    world = listed(mount)
    (mount / "in/vanishes").unlink()
    world.copy_all()
    finish_tree(world.context(), deletes=True)
    assert begin_deletion(world.context())["count"] == 0
    assert remove_directories(world.context()) == {"removed": 0, "done": True}
    summary = world.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["deleted"]["entries"] == 0
    assert any("none of 9 entries" in note for note in summary["notes"])
    assert (mount / "out/old").exists()
    assert not list((mount / "out").glob(".fanout-*"))


def test_a_file_where_the_source_has_a_directory_is_no_extra(tmp_path: Path) -> None:
    write(tmp_path / "in", *KEEP, "name/file", "was-directory")
    write(tmp_path / "out", *KEEP, "name", "was-directory/file")
    world = world_of(tmp_path)
    summary = world.run(SYNC)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["deleted"]["entries"] == 0
    assert (tmp_path / "out/name").is_file()
    assert (tmp_path / "out/was-directory/file").is_file()


def test_what_the_source_holds_and_the_run_skips_is_no_extra(tmp_path: Path) -> None:
    write(tmp_path / "in", *KEEP)
    (tmp_path / "in/link").symlink_to("keep")
    os.mkfifo(tmp_path / "in/fifo")
    write(tmp_path / "out", *KEEP, "link", "fifo")
    summary = world_of(tmp_path).run({**SYNC, "symlinks": "skip"})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["deleted"]["entries"] == 0
    assert {"link", "fifo"} <= names(tmp_path / "out")


def test_from_a_bucket_directories_that_its_keys_imply_stay() -> None:
    world = World()
    source, destination = world.source, world.destination
    assert isinstance(source, MemoryTree) and isinstance(destination, MemoryTree)
    for number in range(10):
        source.put(f"d/{number}", Kind.FILE, b"x")
        destination.put(f"d/{number}", Kind.FILE, b"x")
    for path in ("d/", "e/", "e/f/"):
        destination.put(path, Kind.DIRECTORY)
    destination.put("e/f/old", Kind.FILE, b"x")
    request = {
        "source": "s3://a-bucket/tree/",
        "destination": "efs:///copy",
        "mode": "sync",
        "delete_guard": {"max_percent": 50.0},
    }
    summary = world.run(request)
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["deleted"]["entries"] == 3
    assert set(destination.contents()) == {"d/", *(f"d/{number}" for number in range(10))}


@pytest.mark.parametrize("on_conflict", ["escape", "unescape"])
def test_escaped_names_can_not_be_synced(on_conflict: str) -> None:
    request = {"source": "s3://a-bucket/", "destination": "efs:///copy", "mode": "sync", "on_conflict": on_conflict}
    with pytest.raises(InvalidRequest, match="on_conflict"):
        World().plan(request)


def test_what_the_filters_leave_out_is_not_deleted_nor_a_directory_that_holds_it(mount: Path) -> None:
    for path in ("extra/keep.log", "extra/gone", "cache/file", "far/gone"):
        write(mount / "out", path)
    world = world_of(mount)
    summary = world.run({**SYNC, "exclude": ["*.log", "cache/"], "delete_guard": {"max_percent": 90}})
    assert summary["status"] == "SUCCEEDED"
    found = names(mount / "out")
    assert {"extra", "extra/keep.log", "cache", "cache/file"} <= found
    assert not {"extra/gone", "far", "far/gone"} & found
