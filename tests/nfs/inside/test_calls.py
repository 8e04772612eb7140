"""Linux's NFS client asks for a program's calls what the table of the simulated EFS says."""

from __future__ import annotations

from benchmarks.calls import ASKED, asked
from tests.nfs.inside.mounts import Mounts, drop_caches, operations


def test_calls_ask_what_the_table_says(mounts: Mounts) -> None:
    # A server that has just begun lets its first OPEN wait, and the client asks again until it answers.
    (mounts.a / "first").write_bytes(b"first")
    drop_caches()
    (mounts.a / "root").mkdir()
    assert asked(mounts.a / "root", operations) == ASKED
