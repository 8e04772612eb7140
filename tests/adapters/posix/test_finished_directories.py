"""A directory gets its mode when the run ends, and one that was there closed is not opened without a mark."""

from __future__ import annotations

import os
import stat

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from tests.support.nobody import NOBODY, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@pytest.mark.parametrize(("mode", "refused"), [(0o700, False), (0o755, True), (0o710, True)])
def test_a_closed_directory_that_was_listed_may_get_the_mode_that_it_has(mode: int, refused: bool) -> None:
    """A retry sets what the source says of a directory, and then what the first run's keys implied of it."""
    with open_directory() as mount:
        closed = mount / "out/p"
        closed.mkdir(mode=0o700, parents=True)
        (closed / "pay").write_text("salaries")
        os.chown(mount / "out", NOBODY, NOBODY)
        tree = PosixTree(mount, "out", "run-2", "n")
        tree.check(writing=True)
        assert tree.file_system is not None
        inode = str(closed.stat().st_ino)
        listed = Entry("p/", Kind.DIRECTORY, inode=inode, replaces=inode)
        if refused:
            with pytest.raises(ItemError, match="a stopped run left it closed"):
                tree.file_system.open_directory(listed, mode)
        else:
            tree.file_system.open_directory(listed, mode)
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
