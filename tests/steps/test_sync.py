"""mode: sync: what is extra is deleted, last, within the guard, and nothing else ever is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.directory_store import DirectoryStore
from fanout.adapters.memory import MemoryTree
from fanout.adapters.posix.tree import PosixTree
from fanout.domain import limits
from fanout.domain.entries import Entry, Kind
from fanout.domain.errors import DeleteRefused, InvalidRequest, ListingIncomplete, Transient
from fanout.domain.pruning import Prunes, no_pruning
from fanout.domain.rows import Json, shard_from_row
from fanout.domain.segments import Segment
from fanout.steps.begin_deletion import begin_deletion
from fanout.steps.delete_shard import delete_shard
from fanout.steps.finish_tree import finish_tree
from fanout.steps.partition_shards import partition_shards
from fanout.steps.remove_directories import remove_directories
from fanout.steps.summarise_transfer import summarise_transfer
from tests.support.flow import World
from tests.support.mounts import world_of

SYNC: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync", "delete_guard": {"max_percent": 99.0}}
KEEP = [f"keep/{number}" for number in range(20)]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """A source, and a destination that holds the same and more."""
    write(tmp_path / "in", *KEEP)
    write(tmp_path / "out", *KEEP, "old", "keep/old", "gone/deep/er/file", "gone/file")
    (tmp_path / "out/gone/empty").mkdir()
    (tmp_path / "out/link").symlink_to("/etc/passwd")
    return tmp_path


def listed(mount: Path, request: Json = SYNC) -> World:
    world = world_of(mount)
    world.list_all(world.plan(request))
    return world


def copied(mount: Path, request: Json = SYNC) -> World:
    """A sync up to where it would delete."""
    world = listed(mount, request)
    world.copy_all()
    finish_tree(world.context())
    return world


def deletions(world: World) -> list[Any]:
    return [shard_from_row(row["shard"]) for row in world.ledger.read_json("deletions.json")]


def ended(world: World) -> Json:
    while not remove_directories(world.context())["done"]:
        pass
    return world.end()


def reasons(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


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
    monkeypatch.setattr(limits, "SEGMENT_ENTRIES", cut_after)
    monkeypatch.setattr(limits, "SHARD_ENTRIES", 2)
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

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        for number, entry in enumerate(super().list(segment, prunes)):
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
    """A source with a directory that can not be read, whoever reads it."""

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        for entry in super().list(segment, prunes):
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
    assert names(mount / "out") == before


def test_an_entry_that_is_not_copied_keeps_every_extra(mount: Path) -> None:
    write(mount / "in", "vanishes")
    world = listed(mount)
    (mount / "in/vanishes").unlink()
    world.copy_all()
    finish_tree(world.context())
    assert begin_deletion(world.context())["directories"] is False
    summary = world.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["deleted"]["entries"] == 0
    assert any("none of 9 entries" in note for note in summary["notes"])
    assert (mount / "out/old").exists()


def rewritten(mount: Path) -> None:
    (mount / "out/old").write_text("somebody needs it")


def touched(mount: Path) -> None:
    os.utime(mount / "out/old", ns=(1, 1))


def other_kind(mount: Path) -> None:
    (mount / "out/old").unlink()
    (mount / "out/old").mkdir()


def at_the_source(mount: Path) -> None:
    write(mount / "in", "old")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (rewritten, "destination changed"),
        (touched, "destination changed"),
        (other_kind, "destination changed"),
        (at_the_source, "is at the source by now"),
    ],
)
def test_an_extra_that_changed_since_it_was_listed_is_kept(
    mount: Path, change: Callable[[Path], None], reason: str
) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    change(mount)
    for shard in deletions(world):
        assert delete_shard(shard, world.context())["done"]
    summary = ended(world)
    assert reasons(world) == {"old": reason}
    assert (mount / "out/old").exists()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["deleted"]["entries"] == 8
    assert summary["balanced"]


def test_a_directory_into_which_something_was_written_is_kept(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    write(mount / "out", "gone/deep/new")
    for shard in deletions(world):
        delete_shard(shard, world.context())
    ended(world)
    assert reasons(world) == {"gone/": "directory is not empty", "gone/deep/": "directory is not empty"}
    assert names(mount / "out/gone") == {"deep", "deep/new"}


def test_a_symlink_put_into_the_path_is_not_followed(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    outside = mount / "outside"
    write(outside, "deep/er/file", "file")
    (mount / "out/gone").rename(mount / "moved")
    (mount / "out/gone").symlink_to(outside)
    before = names(outside)
    world.destination = PosixTree(mount, "out", "run-1", "n2")
    for shard in deletions(world):
        delete_shard(shard, world.context())
    ended(world)
    assert names(outside) == before
    found = reasons(world)
    assert found.pop("gone/") == "destination has another kind of entry"
    assert set(found) == {"gone/file", "gone/deep/", "gone/deep/er/", "gone/deep/er/file", "gone/empty/"}
    assert set(found.values()) == {"symlink in the destination's path"}


def test_deletion_delivered_twice_counts_once(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    for shard in deletions(world):
        assert delete_shard(shard, world.context())["done"]
        for key in list(world.ledger.keys(f"outcomes/shards/{shard.id}/")):
            world.store._objects.pop(world.ledger.prefix + key)  # type: ignore[attr-defined]
        assert delete_shard(shard, world.context())["done"]
        assert delete_shard(shard, world.context())["done"]
    assert remove_directories(world.context())["done"]
    summary = ended(world)
    assert summary["totals"]["deleted"]["entries"] == 9
    assert summary["status"] == "SUCCEEDED"


def test_a_function_without_time_deletes_nothing_and_says_so(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    world.remaining_seconds = -1.0
    with pytest.raises(Transient, match="none of 5 entries could be deleted in time"):
        delete_shard(deletions(world)[0], world.context())
    with pytest.raises(Transient, match="none could be removed in time"):
        remove_directories(world.context())


def test_a_shard_without_outcomes_is_no_success(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    summary = ended(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world)["old"] == "the shard failed"


def test_kills_in_the_deletion_lose_nothing_and_are_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in", *KEEP)
    write(tmp_path / "out", *KEEP, *(f"old/{number % 9}/{number}" for number in range(400)))
    world = world_of(tmp_path)
    world.store = DirectoryStore(tmp_path / "ledger")
    world.list_all(world.plan(SYNC))
    world.copy_all()
    finish_tree(world.context())
    begin_deletion(world.context())
    [shard] = deletions(world)
    kills = 0
    for number in range(5):
        pid = os.fork()
        if not pid:
            left = [60 * (number + 1)]
            unlink = os.unlink

            def killed(name: str, *, dir_fd: int, unlink: Any = unlink, left: list[int] = left) -> None:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                unlink(name, dir_fd=dir_fd)

            monkeypatch.setattr(os, "unlink", killed)
            world.source = PosixTree(tmp_path, "in", "run-1", f"k{number}", "source")
            world.destination = PosixTree(tmp_path, "out", "run-1", f"k{number}")
            delete_shard(shard, world.context())
            os._exit(0)
        kills += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert kills >= 3
    assert delete_shard(shard, world.context())["done"]
    summary = ended(world)
    assert names(tmp_path / "out") == names(tmp_path / "in")
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["deleted"]["entries"] == 410


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
