"""Random trees go to a bucket and back, and are what they were."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.ports.tree import Tree
from tests.support.flow import World
from tests.support.memory import MemoryTree

NAMES = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..") and not name.startswith(".fanout-staging-")
)
FILES = st.tuples(st.just("file"), st.binary(max_size=300), st.integers(0, 0o777), st.integers(0, 2**60))
LINKS = st.tuples(st.just("link"), NAMES, st.just(0o777), st.integers(0, 2**60))
DIRECTORIES = st.recursive(
    st.dictionaries(NAMES, FILES | LINKS, max_size=4),
    lambda inner: st.dictionaries(NAMES, FILES | LINKS | inner, max_size=4),
    max_leaves=12,
)
THERE = {"source": "efs:///tree", "destination": "s3://a-bucket/tree/", "content_type": "none"}
BACK = {"source": "s3://a-bucket/tree/", "destination": "efs:///back"}


def make(where: Path, content: dict[str, Any]) -> None:
    where.mkdir()
    for name, one in content.items():
        path = where / name
        if isinstance(one, dict):
            make(path, one)
            continue
        kind, data, mode, mtime_ns = one
        if kind == "link":
            path.symlink_to(data)
        else:
            path.write_bytes(data)
            path.chmod(mode | 0o400)
        os.utime(path, ns=(mtime_ns, mtime_ns), follow_symlinks=False)
    os.utime(where, ns=(len(content), len(content)))


def state(where: Path) -> dict[str, Any]:
    """Everything below a directory: kind and mode, mtime, bytes or target."""
    found = {}
    for path in where.rglob("*"):
        seen = path.lstat()
        data: Any = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(where))] = (seen.st_mode, seen.st_mtime_ns, data)
    return found


def transfer(source: Tree, destination: Tree, request: dict[str, Any]) -> None:
    summary = World(source=source, destination=destination).run({**request, "verify": "all"})
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["balanced"]
    assert summary["totals"]["listed"] == summary["totals"]["copied"]
    assert summary["verification"]["source_digest"] == summary["verification"]["destination_digest"]


@settings(max_examples=40, deadline=None)
@given(DIRECTORIES)
def test_a_tree_comes_back_as_it_was(content: dict[str, Any]) -> None:
    base = Path(tempfile.mkdtemp())
    try:
        make(base / "tree", content)
        bucket = MemoryTree()
        transfer(PosixTree(base, "tree", "run-1", "a", "source"), bucket, THERE)
        transfer(bucket, PosixTree(base, "back", "run-1", "b"), BACK)
        back = state(base / "back") if (base / "back").exists() else {}
        assert back == state(base / "tree")
        assert all(stat.S_ISDIR(mode) or mode for mode, _, _ in back.values())
    finally:
        shutil.rmtree(base)
