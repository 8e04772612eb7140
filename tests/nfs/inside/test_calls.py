"""Linux's NFS client asks for a program's calls what the table of the simulated EFS says."""

from __future__ import annotations

from benchmarks.calls import ASKED, asked
from tests.nfs.inside.mounts import Mounts, drop_caches, operations


def test_calls_ask_what_the_table_says(mounts: Mounts) -> None:
    drop_caches()
    (mounts.a / "root").mkdir()
    assert asked(mounts.a / "root", operations) == ASKED
