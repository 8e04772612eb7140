"""Removing a version that was taken away."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.adapters.posix.publishing.retired import remove_retired
from fanout.model.deadline import NEVER, PASSED

USER, PR_SET_DUMPABLE = 65_534, 4


def retired(tmp_path: Path) -> Path:
    version = tmp_path / ".removed-v1"
    for path in ("a.txt", "d/b.txt", "d/e/c.txt", "d/e/f/g.txt"):
        (version / path).parent.mkdir(parents=True, exist_ok=True)
        (version / path).write_text(path)
    return version


def remove(above: int) -> bool:
    return remove_retired(above, ".removed-v1", "v1", NEVER, lambda: None).done


def as_owner_alone(above: int) -> bool:
    """Removes as a user without the rights of root, as an access point's identity is."""
    if os.geteuid():
        return remove(above)
    pid = os.fork()
    if not pid:
        done = False
        try:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self is root's
            done = remove(above)
        finally:
            os._exit(not done)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("mode", [0o555, 0o500, 0o300, 0o000])
def test_directories_that_forbid_their_owner_to_write_go_too(tmp_path: Path, mode: int) -> None:
    version = retired(tmp_path)
    if not os.geteuid():
        for path in (tmp_path, version, *version.rglob("*")):
            os.chown(path, USER, USER)
    for name in ("d/e/f", "d/e", "d", "."):
        (version / name).chmod(mode)
    above = os.open(tmp_path, DIRECTORY_FLAGS)
    try:
        assert as_owner_alone(above)
    finally:
        os.close(above)
    assert os.listdir(tmp_path) == []


def test_a_symlink_in_it_goes_itself_and_what_it_leads_to_keeps_its_mode(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o555)
    (retired(tmp_path) / "d/link").symlink_to(outside)
    above = os.open(tmp_path, DIRECTORY_FLAGS)
    try:
        assert remove(above)
    finally:
        os.close(above)
    assert os.listdir(tmp_path) == ["outside"]
    assert outside.stat().st_mode & 0o777 == 0o555


def test_without_time_it_stops_and_goes_on_later(tmp_path: Path) -> None:
    retired(tmp_path)
    above = os.open(tmp_path, DIRECTORY_FLAGS)
    try:
        assert not remove_retired(above, ".removed-v1", "v1", PASSED, lambda: None).done
        assert (tmp_path / ".removed-v1/a.txt").exists()
        assert remove(above)
    finally:
        os.close(above)
    assert os.listdir(tmp_path) == []
