"""Sources that change, vanish or cannot be read, through the whole flow: each entry gets its outcome."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.mounts import REQUEST, copied, files, fill, listed, reasons, world_of
from tests.support.nobody import as_nobody, open_directory
from tests.support.two_mounts import TwoMounts


def test_what_changes_or_goes_between_listing_and_copying_is_named(tmp_path: Path) -> None:
    names = ["same", "rewritten", "grown", "gone", "replaced", "now-a-directory", "now-a-link", "now-a-pipe"]
    source = fill(tmp_path, *names, "gone-directory/f", "turned-directory/f")
    world = listed(tmp_path)
    (source / "rewritten").write_text("CONTENT OF rewritten")
    with (source / "grown").open("a") as file:
        file.write("!")
    (source / "gone").unlink()
    (source / "new").write_text("content of replaced")
    os.rename(source / "new", source / "replaced")
    for name in ("now-a-directory", "now-a-link", "now-a-pipe", "gone-directory/f"):
        (source / name).unlink()
    (source / "now-a-directory").mkdir()
    (source / "now-a-link").symlink_to("same")
    os.mkfifo(source / "now-a-pipe")
    (source / "gone-directory").rmdir()
    (source / "turned-directory").rename(tmp_path / "elsewhere")
    (source / "turned-directory").symlink_to(tmp_path / "elsewhere")
    world.source = world_of(tmp_path).source  # another function, which has nothing open
    copied(world)
    changed, vanished = "source changed", "source vanished"
    assert reasons(world) == {
        "rewritten": changed,
        "grown": changed,
        "gone": vanished,
        "replaced": changed,
        "now-a-directory": changed,
        "now-a-link": changed,
        "now-a-pipe": changed,
        "gone-directory/": vanished,
        "gone-directory/f": vanished,
        "turned-directory/": changed,
        "turned-directory/f": changed,
    }
    assert files(tmp_path / "out") == {"same": "content of same"}


def test_a_file_that_is_rewritten_while_it_is_read_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fill(tmp_path, "f")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/f").write_text("old")
    world = listed(tmp_path)
    plain = os.pread

    def read(*arguments: Any) -> bytes:
        block = plain(*arguments)
        (source / "f").write_text("CONTENT OF f")
        return block

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", read)
        copied(world)
    assert reasons(world) == {"f": "source changed"}
    assert files(tmp_path / "out") == {"f": "old"}


def test_special_files_are_skipped_with_their_reason(tmp_path: Path) -> None:
    source = fill(tmp_path, "f")
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(source / "socket"))
    special = 2
    if os.geteuid() == 0:
        os.mknod(source / "device", 0o020600, os.makedev(1, 3))
        special = 3
    world = world_of(tmp_path)
    summary = world.run(REQUEST)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["skipped"]["entries"] == special
    [key] = list(world.ledger.keys("outcomes/listed/"))
    assert {row["reason"] for row in world.ledger.read_rows(key)} == {"special file"}
    assert files(tmp_path / "out") == {"f": "content of f"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")
def test_without_rights_each_entry_says_what_is_missing() -> None:
    with open_directory() as mount:
        source = fill(mount, "readable", "sealed", "sealed-directory/f", "kept-directory/f", "replaced")
        (source / "sealed").chmod(0o600)
        (source / "sealed-directory").chmod(0o700)
        (mount / "out/kept-directory").mkdir(parents=True)
        (mount / "out").chmod(0o777)

        def run() -> Any:
            world = world_of(mount)
            summary = world.run(REQUEST)
            return {**summary, "reasons": reasons(world)}

        summary = as_nobody(run)
        assert summary["balanced"]
        assert not summary["complete_listing"]
        assert summary["reasons"] == {
            "sealed": "source cannot be read",
            "sealed-directory/": "directory cannot be listed",
            "kept-directory/": "destination cannot be written",  # its attributes are its owner's to change
            "kept-directory/f": "destination cannot be written",
        }
        assert files(mount / "out") == {"readable": "content of readable", "replaced": "content of replaced"}


def put_back(path: Path, data: bytes) -> None:
    """Rewrite a file in place and set its times to what they were, as ``rsync --inplace -t`` and databases do."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # a file system's clock ticks every 4 to 10 ms
        with path.open("r+b") as file:
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def test_a_rewrite_in_place_whose_size_and_mtime_are_put_back_is_a_change(tmp_path: Path) -> None:
    source = fill(tmp_path, "small", "same")
    (source / "large").write_bytes(b"1" * 100_000)
    (source / "link").symlink_to("abc")
    world = listed(tmp_path)
    put_back(source / "small", b"CONTENT OF small")
    put_back(source / "large", b"2" * 100_000)
    times = (source / "link").lstat()
    while (source / "link").lstat().st_ctime_ns == times.st_ctime_ns:
        (source / "link").unlink()
        (source / "link").symlink_to("xyz")
        os.utime(source / "link", ns=(times.st_atime_ns, times.st_mtime_ns), follow_symlinks=False)
    copied(world)
    assert reasons(world) == dict.fromkeys(["small", "large", "link"], "source changed")
    assert files(tmp_path / "out") == {"same": "content of same"}


@pytest.mark.parametrize("size", [100, 100_000, 20_000_000])
def test_a_file_that_is_rewritten_and_put_back_while_it_is_read_is_not_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """By the short way, by the general one in one block, and in several."""
    source = fill(tmp_path, "f")
    (source / "f").write_bytes(b"1" * size)
    world = listed(tmp_path)
    plain = os.pread
    calls: list[int] = []

    def read(descriptor: int, length: int, offset: int) -> bytes:
        block = plain(descriptor, length, offset)
        if not calls:
            calls.append(offset)
            put_back(source / "f", b"2" * size)
        return block

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", read)
        copied(world)
    assert calls
    assert reasons(world) == {"f": "source changed"}
    assert not files(tmp_path / "out")


def test_reading_moves_nothing_that_a_file_is_pinned_by(tmp_path: Path) -> None:
    source = fill(tmp_path, "f", "d/g")
    (source / "link").symlink_to("f")
    os.link(source / "f", source / "further")
    world = world_of(tmp_path)
    for _ in range(2):
        world.list_all(world.plan({**REQUEST, "compare": "always"}))
        assert copied(world)["status"] == "SUCCEEDED"
        world = world.next_run("run-2")


def test_a_big_file_that_is_rewritten_and_put_back_between_two_blocks_is_not_put_in_place(tmp_path: Path) -> None:
    source = fill(tmp_path, "f")
    (source / "f").write_bytes(b"1" * (24 << 20))
    world = world_of(tmp_path)
    world.list_all(world.plan({**REQUEST, "limits": {"split_bytes": 8 << 20}}))
    partition_shards(world.context())
    shards = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    assert all(shard.blocks for shard in shards)
    copy_shard(shards[0], world.context())
    put_back(source / "f", b"2" * (24 << 20))
    for shard in shards:
        copy_shard(shard, world.context())
    finish_tree(world.context())
    summarise_transfer(None, world.context())
    assert reasons(world) == {"f": "source changed"}
    assert not files(tmp_path / "out")


def test_between_two_mounts_what_is_rewritten_and_put_back_before_it_is_staged_is_a_change(tmp_path: Path) -> None:
    mounts = TwoMounts(tmp_path)
    for name in ("f", "same"):
        (mounts.source_root / name).write_text(f"content of {name}")
    mounts.list_all()
    put_back(mounts.source_root / "f", b"CONTENT OF f")
    mounts.copy_all()
    finish_tree(mounts.destination())
    mounts.end()
    assert mounts.failures() == {"f": "source changed"}
    assert files(mounts.root) == {"same": "content of same"}
