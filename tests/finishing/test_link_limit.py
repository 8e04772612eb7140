"""A file with more names than the file system allows: those without room share copies of the file."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.errors import no_room_for_name
from fanout.copying.copier import Copier
from fanout.finishing import link_names
from tests.copying.test_hard_links import REQUEST, grouped, world_of
from tests.support.flow import World
from tests.support.two_mounts import TwoMounts

MOST, NAMES = 10, 35


def fill(root: Path) -> None:
    (root / "d").mkdir(parents=True, exist_ok=True)
    (root / "d/0").write_bytes(b"of many names")
    for number in range(1, NAMES):
        os.link(root / "d/0", root / f"d/{number}")


def limit(monkeypatch: pytest.MonkeyPatch, code: int = errno.EMLINK, most: int = MOST) -> None:
    """A file system that gives a file ``most`` names, and refuses one more."""
    link, one_at_a_time = os.link, threading.Lock()

    def refuse(source: Any, target: Any, **more: Any) -> None:
        with one_at_a_time:
            if os.stat(source, dir_fd=more.get("src_dir_fd"), follow_symlinks=False).st_nlink >= most:
                raise OSError(code, os.strerror(code))
            link(source, target, **more)

    monkeypatch.setattr(os, "link", refuse)


def slow(monkeypatch: pytest.MonkeyPatch, world: World, seconds: float) -> None:
    """Each copy for a name without room takes so long."""
    copy_all = Copier.copy_all

    def copied(self: Copier, *arguments: Any) -> Iterator[Any]:
        for one in copy_all(self, *arguments):
            world.clock.time += seconds
            yield one

    monkeypatch.setattr(link_names, "Copier", type("Slow", (Copier,), {"copy_all": copied}))


def check(summary: Any, out: Path, most: int, files: int) -> None:
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["copied"]["entries"] == NAMES + 1
    found = grouped(out)
    assert {text for text, _ in found} == {"of many names"}
    assert sum(len(names) for _, names in found) == NAMES
    assert max(len(names) for _, names in found) <= most
    assert len(found) <= files
    assert any("of the further names are files of their own" in note for note in summary["notes"])


def test_names_without_room_are_linked_to_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch)
    check(world_of(tmp_path).run(REQUEST), tmp_path / "out", MOST, NAMES // 2)


def test_names_that_share_no_file_are_copied_again_by_a_later_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch, errno.EPERM, 1)
    world = world_of(tmp_path)
    check(world.run(REQUEST), tmp_path / "out", 1, NAMES)
    check(world.next_run("run-2").run(REQUEST), tmp_path / "out", 1, NAMES)
    found = world.next_run("run-3").run({**REQUEST, "mode": "verify", "verify": "content"})
    assert found["status"] == "SUCCEEDED", "names of other files hold the same bytes"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, 524])
def test_a_file_system_without_hard_links_gets_a_file_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch, code, 1)
    check(world_of(tmp_path).run(REQUEST), tmp_path / "out", 1, NAMES)


def test_names_for_which_a_task_has_no_time_are_left_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch, most=1)
    world = world_of(tmp_path)
    slow(monkeypatch, world, 300.0)
    check(world.run(REQUEST), tmp_path / "out", 1, NAMES)


def test_a_file_whose_copy_takes_longer_than_a_whole_task_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch, most=NAMES - 2)
    world = world_of(tmp_path)

    class TooSlow(Copier):
        def copy_all(self, entries: Any, threads: int) -> Iterator[Any]:
            if not self._deadline.passed:
                self.unfinished += entries
                world.clock.time += 900.0
            return iter(())

    monkeypatch.setattr(link_names, "Copier", TooSlow)
    summary = world.run(REQUEST)
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True), summary
    reasons = [failure["reason"] for failure in world.ledger.read_rows("failures.jsonl")]
    assert 0 < len(reasons) <= 2 and set(reasons) == {"too large for one function's time"}


def test_a_later_run_copies_such_a_file_again_and_a_verification_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "in")
    limit(monkeypatch)
    world_of(tmp_path).run(REQUEST)
    check(world_of(tmp_path, "run-2").run(REQUEST), tmp_path / "out", MOST, NAMES // 2)
    world = world_of(tmp_path, "run-3")
    assert world.run({**REQUEST, "mode": "verify"})["status"] == "FAILED_WITH_ITEMS"
    assert {row["reason"] for row in world.ledger.read_rows("failures.jsonl")} == {"hard links differ"}


def test_between_two_mounts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = TwoMounts(tmp_path)
    fill(mounts.source_root)
    limit(monkeypatch)
    check(mounts.run(), mounts.root, MOST, NAMES // 2)


def test_another_error_of_a_link_is_no_lack_of_room() -> None:
    assert no_room_for_name(OSError(errno.EIO, "input")) is None
