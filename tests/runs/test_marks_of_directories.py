"""Marks of directories that runs leave closed: one operation each, and none where nobody else may rename."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.model.entry import Attributes, Entry, Kind
from tests.runs.test_directories_by_inode import FROM_KEYS, Functions
from tests.runs.test_renamed_leftovers import NONE, are_own, functions, left_by, mount
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.nobody import as_nobody

__all__ = ["mount"]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@pytest.mark.parametrize("owner", [(0, 0o755), (0, 0o1777)], ids=["closed", "sticky"])
def test_where_nobody_else_may_rename_nothing_is_marked(mount: Path, owner: tuple[int, int]) -> None:
    os.chown(mount / "out", owner[0], 0)
    (mount / "out").chmod(owner[1])
    first, second = functions(mount)
    for tree in (first, second):
        tree.make_directory(Entry("d/e/", Kind.DIRECTORY), NONE)
        assert are_own(tree) == [True, True]
    [staging] = [one for one in (mount / "out").iterdir() if one.name.startswith(".fanout")]
    assert not list(staging.glob("later-made*"))


def test_a_plain_user_in_his_own_directory_needs_no_marks(mount: Path) -> None:
    def runs() -> list[str]:
        store = MemoryStore()
        keys = left_by(mount, store, "FinishTree")
        assert not list((mount / "out").glob(".fanout*/later-made*"))
        world = Functions(mount=mount, keys=keys, store=store, run_id="run-2")
        return [str(world.run(FROM_KEYS)["status"]), oct((mount / "out/q").stat().st_mode & 0o7777)]

    assert as_nobody(runs) == ["SUCCEEDED", "0o755"]


class Counted:
    """The calls of ``os`` about marks that a run makes; rooms for marks are made once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        for call in ("symlink", "readlink"):
            monkeypatch.setattr(os, call, self._counted(call, getattr(os, call)))

    def _counted(self, call: str, real: Callable[..., object]) -> Callable[..., object]:
        def counted(*of: object, **named: object) -> object:
            self.calls[call] += "dir_fd" in named
            return real(*of, **named)

        return counted


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("marked", [False, True], ids=["implied", "marked"])
def test_a_mark_is_one_operation_a_directory_and_none_where_nobody_else_may_rename(
    mount: Path, closed: bool, marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if closed:
        os.chown(mount / "out", 0, 0)
    keys = MemoryTree()
    for number in range(20):
        if marked:
            keys.put(f"d{number}/", Kind.DIRECTORY, b"", Attributes(0o40755, 0, 0))
        for name in ("f", "g", "h"):
            keys.put(f"d{number}/{name}", Kind.FILE, b"hello", Attributes(0o644, 0, 0))
    counted = Counted(monkeypatch)
    world = Functions(mount=mount, keys=keys, is_one=True)
    assert world.run(FROM_KEYS)["status"] == "SUCCEEDED"
    assert counted.calls == ({} if closed else {"symlink": 20})
