"""Attributes that a request gives to directories which keys imply: none where no entry made the directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fanout.adapters.given_tree import with_given_attributes
from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.finish_directories import set_directories
from fanout.model.entry import Attributes, Kind
from fanout.request.parts.given_attributes import GivenAttributes
from fanout.shards.made_directories import MadeDirectory
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree


def test_a_directory_that_no_entry_made_is_no_failure(tmp_path: Path) -> None:
    tree = PosixTree(tmp_path, "out", "run-1", "n")
    tree.check(writing=True)
    (tmp_path / "out/there").mkdir()
    inode = str((tmp_path / "out/there").stat().st_ino)
    asked = [MadeDirectory(path, 0o750, may_lack=True, inode=inode) for path in ("lacks/", "lacks/inner/", "there/")]
    assert set_directories(tree, asked) == []
    assert (tmp_path / "out/there").stat().st_mode & 0o7777 == 0o750
    (unset,) = set_directories(tree, [MadeDirectory("lacks/", 0o750)])
    assert unset.path == "lacks/"


def test_a_run_whose_only_entry_below_is_left_out_succeeds(tmp_path: Path) -> None:
    world = World(destination=PosixTree(tmp_path, "out", "run-1", "n"))
    source = world.source
    assert isinstance(source, MemoryTree)
    source.put("d/e/link", Kind.FILE, b"nowhere", Attributes(mode=0o120777))
    source.put("f/file", Kind.FILE, b"file")
    given = {"file_mode": "0640", "directory_mode": "0750", "uid": os.getuid(), "gid": os.getgid()}
    shown: Any = with_given_attributes(source, GivenAttributes(**given))  # type: ignore[arg-type]
    world.source = shown
    summary = world.run({**REQUEST, "symlinks": "skip", "attributes": given})
    assert summary["status"] == "SUCCEEDED", list(world.ledger.read_rows("failures.jsonl"))
    assert (tmp_path / "out/f").stat().st_mode & 0o7777 == 0o750
    assert not (tmp_path / "out/d").exists()
