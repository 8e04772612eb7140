"""Entries that vanish from the source after they were listed, and ``vanished: skip``."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.model.document import Json
from tests.support.flow import World
from tests.support.mounts import REQUEST, reasons, world_of
from tests.support.syncs import names, write

SYNC = {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 99.0}}
SKIP = {"vanished": "skip"}


def after(world: World, state: str, happens: Callable[[], Any]) -> None:
    """Have something happen once a state of the run is done."""
    task, happened = world.task, list[Any]()

    def and_then(name: str, event: Json) -> Any:
        answer = task(name, event)
        if name == state and not happened:
            happened.append(happens())
        return answer

    world.task = and_then  # type: ignore[method-assign,assignment]


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    write(tmp_path / "in", "stays", "d/goes", "d/e/goes", "goes")
    write(tmp_path / "out", "stays", "extra", "d/goes")
    return tmp_path


def vanish(mount: Path) -> None:
    for name in ("goes", "d/goes", "d/e/goes"):
        (mount / "in" / name).unlink()
    (mount / "in/d/e").rmdir()


def synced(mount: Path, options: Json, state: str = "PartitionShards") -> tuple[World, Json]:
    world = world_of(mount)
    after(world, state, lambda: vanish(mount))
    return world, world.run({**SYNC, **options})


def test_what_vanishes_fails_the_run_and_holds_back_the_deletion(mount: Path) -> None:
    world, summary = synced(mount, {})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert set(reasons(world).values()) == {"source vanished"}
    assert "extra" in names(mount / "out")


def test_left_out_it_holds_nothing_back(mount: Path) -> None:
    world, summary = synced(mount, SKIP)
    assert (summary["status"], summary["balanced"], reasons(world)) == ("SUCCEEDED", True, {})
    assert summary["totals"]["skipped"]["entries"] == 4
    # What the destination holds of it goes with the next sync, whose listing does not find it.
    assert names(mount / "out") == {"stays", "d", "d/goes"}
    again = world_of(mount, "run-2").run({**SYNC, **SKIP})
    assert (again["status"], names(mount / "out")) == ("SUCCEEDED", {"stays", "d"})


@pytest.mark.parametrize(("options", "status"), [({}, "FAILED_WITH_ITEMS"), (SKIP, "SUCCEEDED")])
def test_so_does_a_file_that_vanishes_before_it_is_compared(mount: Path, options: Json, status: str) -> None:
    world = world_of(mount)
    after(world, "FinishTree", (mount / "in/d/goes").unlink)
    summary = world.run({**SYNC, "verify": "copied", **options})
    assert (summary["status"], summary["balanced"]) == (status, True)


@pytest.mark.parametrize(("options", "status"), [({}, "FAILED_WITH_ITEMS"), (SKIP, "SUCCEEDED")])
@pytest.mark.parametrize("course", [{"verify": "copied"}, {"mode": "move"}], ids=["copy", "move"])
def test_so_does_a_directory_that_was_open_and_vanishes_with_all_it_holds(
    mount: Path, course: Json, options: Json, status: str
) -> None:
    """A function that keeps directories open says the same of them as one that opens them anew."""
    world = world_of(mount)
    task = world.task

    def vanishes(name: str, event: Json) -> Any:
        if event["step"] == "VerifyShard" and (mount / "in/d").exists():
            shutil.rmtree(mount / "in/d")
        return task(name, event)

    world.task = vanishes  # type: ignore[method-assign,assignment]
    summary = world.run({**REQUEST, **course, **options})
    assert (summary["status"], summary["balanced"]) == (status, True)
    assert set(reasons(world).values()) == (set() if options else {"source vanished"})


def test_one_that_another_takes_the_place_of_has_changed(mount: Path) -> None:
    world = world_of(mount)

    def replaced() -> None:
        shutil.rmtree(mount / "in/d")
        (mount / "in/d").mkdir()

    after(world, "FinishTree", replaced)
    summary = world.run({**REQUEST, "verify": "copied", **SKIP})
    assert (summary["status"], set(reasons(world).values())) == ("FAILED_WITH_ITEMS", {"source changed"})


def test_a_move_deletes_what_is_proven_and_leaves_out_what_vanished(mount: Path) -> None:
    world = world_of(mount)
    after(world, "PartitionShards", lambda: vanish(mount))
    summary = world.run({**REQUEST, "mode": "move", **SKIP})
    assert (summary["status"], names(mount / "in")) == ("SUCCEEDED", set())


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESTALE])
@pytest.mark.parametrize("size", [3, tuning.BLOCK_BYTES_FREE + 1])
def test_an_entry_that_a_second_look_finds_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, size: int
) -> None:
    """An NFS client may hold a name for missing that another client has made, or a directory for the one before."""
    (tmp_path / "in/d").mkdir(parents=True)
    (tmp_path / "in/d/file").write_bytes(b"x" * size)
    really, missed = os.open, 0

    def denied_at_first(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        nonlocal missed
        if path == "file" and not flags & os.O_CREAT and missed < (2 if size < tuning.BLOCK_BYTES_FREE else 1):
            missed += 1
            raise OSError(number, os.strerror(number))
        return really(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", denied_at_first)
    monkeypatch.setattr(tuning, "COPY_PROCESSES", 1)
    summary = world_of(tmp_path).run({**REQUEST, **SKIP})
    assert missed
    assert (summary["status"], summary["totals"]["skipped"]["entries"]) == ("SUCCEEDED", 0)
    assert (tmp_path / "out/d/file").read_bytes() == b"x" * size
