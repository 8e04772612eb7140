"""Sources that change, vanish or can not be read, through the whole flow: each entry gets its outcome."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.mounts import REQUEST, copied, files, fill, listed, reasons, world_of
from tests.support.nobody import as_nobody, open_directory


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
            "sealed": "source can not be read",
            "sealed-directory/": "directory can not be listed",
            "kept-directory/f": "destination can not be written",
        }
        assert files(mount / "out") == {"readable": "content of readable", "replaced": "content of replaced"}
