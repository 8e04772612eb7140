"""Faults of the server and of the network while files are copied."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.nfs.inside.faults import Faults
from tests.nfs.inside.mounts import Mounts, as_user
from tests.support.mounts import REQUEST, world_of, writable, write_whole
from tests.support.syncs import names, write


def test_a_full_disk_fails_the_file_and_nothing_of_it_is_seen(mounts: Mounts, faults: Faults) -> None:
    tree = writable(PosixTree(mounts.a, "tree", "run", "attempt"))
    write_whole(tree, "d/before", b"fits")
    faults.fill_disk()
    for size in (100_000, 3_000_000):  # told at close, and while it is written
        with pytest.raises(ItemError) as refused:
            write_whole(tree, "d/file", os.urandom(size))
        assert refused.value.reason is Reason.NO_SPACE
    faults.end()
    write_whole(tree, "d/after", b"fits again")
    assert tree.finish() == ()
    assert names(mounts.served / "tree") == {"d", "d/before", "d/after"}


def test_a_quota_fails_the_file(mounts: Mounts, faults: Faults) -> None:
    faults.set_quota(1234, 256)

    def work() -> None:
        tree = writable(PosixTree(mounts.a, "tree", "run", "attempt"))
        try:
            write_whole(tree, "file", os.urandom(1_000_000))
        except ItemError as error:
            os._exit(7 if error.reason is Reason.NO_SPACE else 8)

    assert as_user(1234, work) == 7
    assert [name for name in names(mounts.served / "tree") if "fanout" not in name] == []


def test_a_run_goes_on_after_the_network_was_cut(mounts: Mounts, faults: Faults) -> None:
    copied = run_during(mounts, lambda: cut_for(faults, 4.0))
    assert copied == "SUCCEEDED"


def test_a_run_goes_on_after_the_server_was_restarted(mounts: Mounts, faults: Faults) -> None:
    assert run_during(mounts, faults.restart_server) == "SUCCEEDED"


def cut_for(faults: Faults, seconds: float) -> None:
    with faults.cut("a"):
        time.sleep(seconds)


def run_during(mounts: Mounts, fault: Callable[[], None]) -> str:
    """A whole run, with the fault while it copies; the end is compared, from another client."""
    for number in range(30):
        write(mounts.a, f"in/d{number % 3}/f{number}")
    (mounts.a / "in/big").write_bytes(os.urandom(5 << 20))
    (mounts.a / "out").mkdir()
    world = world_of(mounts.a)
    world.list_all(world.plan(REQUEST))
    thread = threading.Thread(target=fault)
    thread.start()
    world.copy_all()
    thread.join()
    world.finish_all()
    status: str = world.end()["status"]
    assert contents(mounts.b / "out") == contents(mounts.b / "in")
    return status


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_rename_whose_answer_was_lost_with_the_server_is_done_again(mounts: Mounts, faults: Faults) -> None:
    """The server renamed, and forgot that it had: asked again it knows no such file."""
    tree = writable(PosixTree(mounts.a, "tree", "run", "attempt"))
    write_whole(tree, "d/file", b"old")
    rename = os.rename

    def losing(old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        with ThreadPoolExecutor(1) as thread:
            with faults.answers_lost("a"):
                answer = thread.submit(rename, old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
                until = time.monotonic() + 20
                while (mounts.served / "tree/d/file").read_bytes() != b"new" and time.monotonic() < until:
                    time.sleep(0.1)
                faults.restart_server()
            answer.result()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", losing)
        try:
            write_whole(tree, "d/file", b"new")
        except ItemError as error:
            assert error.reason is Reason.TRANSIENT  # or the client finds out by itself
    write_whole(tree, "d/file", b"new")
    assert tree.finish() == ()
    assert contents(mounts.b / "tree") == {"d/file": b"new"}
