"""Directories that were there are closed by an NFS client too, at a set price, and by the server for another client."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes
from tests.adapters.posix.test_closing import (  # noqa: F401 - they run here on the mount
    Told,
    put,
    test_a_directory_that_is_an_entry_is_closed_by_that,
    test_also_where_another_entry_was_put_into_it_before,
    test_it_is_asked_about_once_and_one_of_the_runs_own_never,
    test_it_lets_in_nobody_whom_its_source_keeps_out,
    test_one_above_that_was_open_already_is_closed_first,
    test_one_of_another_user_that_a_plain_user_cannot_close_is_refused_with_a_remedy,
    tree_of,
)
from tests.nfs.inside.mounts import Mounts, counting
from tests.support.nobody import NOBODY, as_nobody

FILES = 20


@pytest.fixture
def mount(mounts: Mounts) -> Path:
    """The root of a run, on a mount."""
    (mounts.a / "out/p").mkdir(parents=True)
    return mounts.a


def test_another_client_may_not_enter_it_any_more(mount: Path, mounts: Mounts) -> None:
    """Its maker had it open there before."""
    os.chown(mount / "out/p", NOBODY, 0)
    held = os.open(mounts.b / "out/p", os.O_RDONLY | os.O_DIRECTORY)
    put(tree_of(mount, Told({"p/": Attributes(0o40700, 0, 0)})), "p/pay")

    def read() -> str:
        try:
            return str(os.stat("pay", dir_fd=held).st_size)
        except OSError as error:
            return str(error.strerror)

    assert as_nobody(read) == "Permission denied"
    os.close(held)


@pytest.mark.parametrize(("mode", "most"), [(0o700, 0), (0o755, 4)], ids=["closed", "open"])
def test_it_takes_few_operations_a_directory_and_none_where_it_is_closed(mount: Path, mode: int, most: int) -> None:
    """SETATTR, what it has then, and a look whether the run may still write; none a file."""
    wanted = Told({"p/": Attributes(0o40700, 0, 0)})
    counts = []
    for source in (Told(), wanted):
        (mount / "out/p").chmod(mode)
        tree = tree_of(mount, source)
        put(tree, "first")
        with counting() as counted:
            for number in range(FILES):
                put(tree, f"p/{number}")
        counts.append(sum(counted.values()))
        PosixTree(mount, "out", "run-1", "end").finish()
    assert counts[1] - counts[0] <= most
