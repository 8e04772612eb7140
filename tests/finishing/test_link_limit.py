"""A file with more names than the file system allows: those without room share copies of the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.errors import no_room_for_name
from tests.copying.test_hard_links import REQUEST, grouped, world_of
from tests.support.two_mounts import TwoMounts

MOST, NAMES = 10, 35


def fill(root: Path) -> None:
    (root / "d").mkdir(parents=True, exist_ok=True)
    (root / "d/0").write_bytes(b"of many names")
    for number in range(1, NAMES):
        os.link(root / "d/0", root / f"d/{number}")


def limit(monkeypatch: pytest.MonkeyPatch, code: int = errno.EMLINK, most: int = MOST) -> None:
    """A file system that gives a file ``most`` names, and refuses one more."""
    link = os.link

    def refuse(source: Any, target: Any, **more: Any) -> None:
        if os.stat(source, dir_fd=more.get("src_dir_fd"), follow_symlinks=False).st_nlink >= most:
            raise OSError(code, os.strerror(code))
        link(source, target, **more)

    monkeypatch.setattr(os, "link", refuse)


def check(summary: Any, out: Path, most: int, files: int) -> None:
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["copied"]["entries"] == NAMES + 1
    found = grouped(out)
    assert {text for text, _ in found} == {"of many names"}
    assert sum(len(names) for _, names in found) == NAMES
    assert max(len(names) for _, names in found) <= most
    assert len(found) <= files
    assert any("files of their own" in note for note in summary["notes"])


def test_names_without_room_are_linked_to_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch)
    check(world_of(tmp_path).run(REQUEST), tmp_path / "out", MOST, NAMES // 2)


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, 524])
def test_a_file_system_without_hard_links_gets_a_file_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch, code, 1)
    check(world_of(tmp_path).run(REQUEST), tmp_path / "out", 1, NAMES)


def test_between_two_mounts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = TwoMounts(tmp_path)
    fill(mounts.source_root)
    limit(monkeypatch)
    check(mounts.run(), mounts.root, MOST, NAMES // 2)


def test_another_error_of_a_link_is_no_lack_of_room() -> None:
    assert no_room_for_name(OSError(errno.EIO, "input")) is None
