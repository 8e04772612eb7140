"""What a run makes is at no moment wider than its source, and what a stopped run left closed the next one opens."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fanout.finishing.finish_tree import finish_tree
from tests.finishing.private import modes, stopped
from tests.support.mounts import REQUEST, fill, world_of
from tests.support.nobody import as_nobody, open_directory
from tests.support.two_mounts import TwoMounts

MODES = {"d": 0o700, "d/e": 0o2750, "d/e/f": 0o1777, "g": 0o755, "h": 0o500, "i": 0o1700}


def filled(mount: Path) -> Path:
    source = fill(mount, *(f"{name}/file" for name in MODES))
    for name in sorted(MODES, reverse=True):
        (source / name).chmod(MODES[name])
    return source


def test_directories_are_closed_until_they_have_their_own_mode(tmp_path: Path, umask: int) -> None:
    source = filled(tmp_path)
    world = world_of(tmp_path)
    stopped(world, REQUEST)
    made = modes(tmp_path / "out")
    assert any(name.startswith(".fanout-staging") for name in made)
    assert not {name: mode for name, mode in made.items() if mode & 0o077}
    finish_tree(world.context())
    assert world.end()["status"] == "SUCCEEDED"
    assert modes(tmp_path / "out") == modes(source) == MODES


def test_no_directory_is_wider_than_its_source_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = filled(tmp_path)
    expected = modes(source)
    looks = 0

    def watch(name: str) -> None:
        plain = getattr(os, name)

        def call(*arguments: Any, **more: Any) -> Any:
            nonlocal looks
            answer = plain(*arguments, **more)
            for path, mode in modes(tmp_path / "out").items():
                looks += 1
                wanted = 0o700 if path.startswith(".fanout-staging") else expected[path] | stat.S_IRWXU
                assert not mode & 0o777 & ~wanted, (path, oct(mode))
            return answer

        monkeypatch.setattr(os, name, call)

    for name in ("mkdir", "fchmod", "fchown", "rename", "link"):
        watch(name)
    assert world_of(tmp_path).run(REQUEST)["status"] == "SUCCEEDED"
    assert looks > 100


def test_what_a_stopped_run_left_closed_gets_its_mode_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = filled(tmp_path)
    for path in [*source.rglob("*"), source]:
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    stopped(world_of(tmp_path), REQUEST)
    for path in (tmp_path / "out").rglob("*"):  # so that no time tells
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    assert world_of(tmp_path, "run-2").run(REQUEST)["status"] == "SUCCEEDED"
    assert {path: mode for path, mode in modes(tmp_path / "out").items() if path in MODES} == MODES


def test_what_a_stopped_run_left_closed_gets_its_mode_by_the_run_that_resumes_it(tmp_path: Path) -> None:
    filled(tmp_path)
    first = world_of(tmp_path)
    stopped(first, REQUEST)
    second = world_of(tmp_path, "run-2")
    second.store, second.clock, second.nonces = first.store, first.clock, first.nonces
    assert second.run({"resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert {path: mode for path, mode in modes(tmp_path / "out").items() if path in MODES} == MODES


def test_between_two_mounts_directories_are_closed_until_they_have_their_own_mode(tmp_path: Path) -> None:
    mounts = TwoMounts(tmp_path)
    for name in MODES:
        (mounts.source_root / name).mkdir(parents=True)
        (mounts.source_root / name / "file").write_text("content")
    for name in sorted(MODES, reverse=True):
        (mounts.source_root / name).chmod(MODES[name])
    mounts.list_all()
    mounts.copy_all()
    assert not {name: mode for name, mode in modes(mounts.root).items() if mode & 0o077}
    again = mounts.next_run("run-2")
    assert again.run()["status"] == "SUCCEEDED"
    assert {path: mode for path, mode in modes(mounts.root).items() if path in MODES} == MODES


def test_a_user_without_rights_makes_and_opens_directories_the_same_way() -> None:
    with open_directory() as mount:
        source = fill(mount, "d/e/f", "g/f")
        (source / "d").chmod(0o755)
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)

        def run() -> Any:
            world = world_of(mount)
            stopped(world, REQUEST)
            closed = [mode for mode in modes(mount / "out").values() if not mode & 0o077]
            finish_tree(world.context())
            return [len(closed), world.end()["status"]]

        closed, status = as_nobody(run)
        assert closed >= 3
        assert status == "SUCCEEDED"
        assert modes(mount / "out") == modes(source)
