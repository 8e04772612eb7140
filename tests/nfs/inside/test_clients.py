"""Two clients, each with a cache of its own: what one does while the other relies on what it saw."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import nullcontext

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import AccessDenied, ItemError, Superseded
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from fanout.ports.turns import Fence
from tests.nfs.inside.mounts import POINT_USER, Mounts
from tests.support.mounts import REQUEST, noted, world_of, writable, write_whole
from tests.support.syncs import names, write


def test_a_fence_of_another_client_stops_what_is_under_way(mounts: Mounts) -> None:
    tree = writable(PosixTree(mounts.a, "tree", "old", "attempt"))
    write_whole(tree, "d/before")
    target = tree.create(Entry("d/late", Kind.FILE, 4), Attributes())
    target.write(0, b"late")
    later = writable(PosixTree(mounts.b, "tree", "new", "attempt"))
    made_by = noted(mounts.b / "tree/.fanout-staging-old")
    assert later.fence([Fence("tree/", "old")], lambda: (), made_by=made_by) == (True, ())
    with pytest.raises(Superseded):
        target.commit(NO_BYTES)
    target.abort()
    with pytest.raises(Superseded):
        write_whole(tree, "e/later")
    assert {name for name in names(mounts.served / "tree") if "fanout" not in name} == {"d", "d/before"}


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "free"])
@pytest.mark.parametrize("is_made_again", [True, False], ids=["made again", "removed"])
def test_files_go_to_the_directory_that_stands_where_another_client_removed_one(
    mounts: Mounts, is_made_again: bool, is_held: bool
) -> None:
    """Where the server holds one of its files open it answers ENOENT and not ESTALE, and this client goes on knowing
    the directory by its name."""
    tree = writable(PosixTree(mounts.a, "tree", "run", "attempt"))
    write_whole(tree, "d/first")
    with (mounts.served / "tree/d/first").open() if is_held else nullcontext():
        shutil.rmtree(mounts.b / "tree/d")
        if is_made_again:
            (mounts.b / "tree/d").mkdir()
        write_whole(tree, "d/second")
        write_whole(tree, "d/third")
    assert names(mounts.served / "tree/d") == {"second", "third"}


def test_a_file_takes_the_name_of_a_directory_that_another_client_removed(mounts: Mounts) -> None:
    (mounts.b / "tree/d/file").mkdir(parents=True)
    assert (mounts.a / "tree/d/file").is_dir()
    (mounts.b / "tree/d/file").rmdir()
    write_whole(writable(PosixTree(mounts.a, "tree", "run", "attempt")), "d/file")
    assert (mounts.served / "tree/d/file").read_bytes() == b"data"


def test_a_directory_that_another_client_put_in_anothers_place_takes_the_files(mounts: Mounts) -> None:
    (mounts.b / "tree/a/d").mkdir(parents=True)
    write_whole(writable(PosixTree(mounts.a, "tree", "run", "attempt")), "a/d/before")
    (mounts.b / "tree/a/d").rename(mounts.b / "aside")
    (mounts.b / "tree/a/d").mkdir()
    write_whole(writable(PosixTree(mounts.a, "tree", "run", "attempt")), "a/d/after")
    assert names(mounts.served / "tree/a/d") == {"after"}


@pytest.mark.parametrize("data", [b"other", b"longer than before"], ids=["same size", "other size"])
def test_what_another_client_wrote_after_the_listing_is_seen(mounts: Mounts, data: bytes) -> None:
    write(mounts.b, "in/file")
    (mounts.b / "in/file").write_bytes(b"first")
    (mounts.b / "out").mkdir()
    world = world_of(mounts.a)
    world.list_all(world.plan(REQUEST))
    (mounts.b / "in/file").write_bytes(data)
    world.copy_all()
    world.finish_all()
    failed = list(world.ledger.read_rows("failures.jsonl")) if world.end()["status"] != "SUCCEEDED" else []
    assert [row["reason"] for row in failed] == [Reason.SOURCE_CHANGED]


def test_a_big_directory_is_listed_whole_while_another_client_changes_it(mounts: Mounts) -> None:
    (mounts.served / "tree").mkdir()
    for number in range(6000):
        (mounts.served / f"tree/stays-{number:05d}").touch()
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            (mounts.b / f"tree/comes-{number}").touch()
            (mounts.b / f"tree/comes-{number}").unlink()
            number += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        found = [entry.path for entry in PosixTree(mounts.a, "tree", "run", "list", "source").list(Segment("all"))]
    finally:
        stop.set()
        thread.join()
    assert [name for name in found if name.startswith("stays")] == [f"stays-{number:05d}" for number in range(6000)]


def test_a_hole_stays_one(mounts: Mounts) -> None:
    write(mounts.a, "in/sparse")
    os.truncate(mounts.a / "in/sparse", 16 << 20)
    (mounts.a / "out").mkdir()
    assert world_of(mounts.a).run(REQUEST)["status"] == "SUCCEEDED"
    copied = (mounts.served / "out/sparse").stat()
    assert copied.st_size == 16 << 20
    assert copied.st_blocks * 512 < 1 << 20


def test_a_read_only_mount_is_refused_before_anything_is_copied(mounts: Mounts) -> None:
    (mounts.a / "tree").mkdir()
    with pytest.raises(AccessDenied):
        PosixTree(mounts.read_only, "tree", "run", "attempt").check(writing=True)


def test_an_access_point_keeps_no_owners_and_says_so(mounts: Mounts) -> None:
    tree = writable(PosixTree(mounts.point, "tree", "run", "attempt"))
    assert f"belongs to {POINT_USER}:{POINT_USER}" in tree.limitations()[0]
    attributes = Attributes(0o104711, 0, 0, 5_000_000_007)
    target = tree.create(Entry("file", Kind.FILE, 0), attributes)
    target.commit(NO_BYTES)
    found = (mounts.served / "tree/file").stat()
    assert (found.st_mode & 0o7777, found.st_uid, found.st_mtime_ns) == (0o711, POINT_USER, 5_000_000_007)


def test_a_squashed_root_that_may_not_write_is_refused(mounts: Mounts) -> None:
    (mounts.served / "tree").mkdir(mode=0o755)
    with pytest.raises(AccessDenied):
        PosixTree(mounts.squash, "tree", "run", "attempt").check(writing=True)


def test_a_squashed_root_copies_where_it_may(mounts: Mounts) -> None:
    tree = writable(PosixTree(mounts.squash, "tree", "run", "attempt"))
    write_whole(tree, "d/file")
    assert tree.finish() == ()
    assert (mounts.served / "tree/d/file").stat().st_uid == 65534


def test_what_may_not_be_read_is_an_item_error(mounts: Mounts) -> None:
    write(mounts.served, "tree/secret")
    (mounts.served / "tree/secret").chmod(0o600)
    tree = PosixTree(mounts.squash, "tree", "run", "attempt", "source")
    entry = next(iter(tree.list(Segment("all"))))
    with pytest.raises(ItemError) as denied:
        tree.open(entry)
    assert denied.value.reason is Reason.SOURCE_DENIED
