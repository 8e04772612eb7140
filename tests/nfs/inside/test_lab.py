"""The lab is what the tests take it for: a real client, two caches, and faults that are felt."""

from __future__ import annotations

import errno
import os
import threading
import time

import pytest

from tests.nfs.inside.faults import Faults
from tests.nfs.inside.mounts import POINT_USER, Mounts, as_user, counting, wait_until


def test_an_open_file_that_is_unlinked_keeps_a_hidden_name(mounts: Mounts) -> None:
    path = mounts.a / "file"
    with path.open("w"):
        path.unlink()
        hidden = [name for name in os.listdir(mounts.a) if name.startswith(".nfs")]
        assert len(hidden) == 1
        with pytest.raises(OSError) as refused:
            os.unlink(mounts.a / hidden[0])
        assert refused.value.errno == errno.EBUSY
    wait_until(lambda: not os.listdir(mounts.a))  # close does not wait for the removal


def test_another_client_has_a_cache_of_its_own(mounts: Mounts) -> None:
    (mounts.a / "file").write_bytes(b"one")
    assert (mounts.b / "file").stat().st_size == 3
    (mounts.a / "file").write_bytes(b"longer")
    assert (mounts.b / "file").stat().st_size == 3  # for as long as attributes are cached
    assert (mounts.b / "file").read_bytes() == b"longer"  # opening asks


def test_the_kernel_counts_what_is_asked_of_the_server(mounts: Mounts) -> None:
    with counting() as counted:
        (mounts.a / "file").write_bytes(b"data")
    assert (counted["OPEN"], counted["WRITE"], counted["CLOSE"]) == (1, 1, 1)


def test_identities(mounts: Mounts) -> None:
    (mounts.point / "point").write_bytes(b"")
    (mounts.squash / "squash").write_bytes(b"")
    owners = [(mounts.a / name).stat().st_uid for name in ("point", "squash")]
    assert owners == [POINT_USER, 65534]
    with pytest.raises(OSError) as refused:
        (mounts.read_only / "file").write_bytes(b"")
    assert refused.value.errno == errno.EROFS


def test_a_cut_network_makes_a_call_wait(mounts: Mounts, faults: Faults) -> None:
    done = threading.Event()

    def write() -> None:
        (mounts.a / "file").write_bytes(b"data")
        done.set()

    thread = threading.Thread(target=write)
    with faults.cut("a"):
        thread.start()
        assert not done.wait(2)
    thread.join()
    assert (mounts.b / "file").read_bytes() == b"data"


def test_a_restarted_server_answers_for_what_was_open(mounts: Mounts, faults: Faults) -> None:
    with (mounts.a / "file").open("wb", buffering=0) as file:
        file.write(b"before")
        faults.restart_server()
        file.write(b"after")
    assert (mounts.b / "file").read_bytes() == b"beforeafter"


def test_a_full_disk_is_told_when_a_file_is_closed(mounts: Mounts, faults: Faults) -> None:
    faults.fill_disk()
    descriptor = os.open(mounts.a / "file", os.O_WRONLY | os.O_CREAT)
    assert os.write(descriptor, bytes(100_000)) == 100_000
    with pytest.raises(OSError) as refused:
        os.close(descriptor)
    assert refused.value.errno == errno.ENOSPC


def test_a_quota_is_told_when_a_file_is_closed(mounts: Mounts, faults: Faults) -> None:
    faults.set_quota(1234, 64)

    def write() -> None:
        descriptor = os.open(mounts.a / "file", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, bytes(1_000_000))
        try:
            os.close(descriptor)
        except OSError as error:
            os._exit(error.errno or 0)

    assert as_user(1234, write) == errno.EDQUOT


def test_a_slow_server_takes_its_time(mounts: Mounts, faults: Faults) -> None:
    (mounts.a / "file").write_bytes(b"")
    began = time.monotonic()
    with faults.slow("a", milliseconds=300):
        (mounts.a / "file").read_bytes()
    assert time.monotonic() - began >= 0.3
