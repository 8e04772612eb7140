"""Errors of the file system through the whole flow: each entry gets its outcome, and nothing is left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import ListingIncomplete, Transient
from fanout.model.file_system import Staged
from tests.support.mounts import REQUEST, copied, files, fill, listed, reasons, world_of


def is_creation(_path: Any, flags: int = 0, *_: Any, **__: Any) -> bool:
    return bool(flags & os.O_CREAT)


def is_written_file(descriptor: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


OPERATIONS: dict[str, tuple[str, Callable[..., bool]]] = {
    "create": ("open", is_creation),
    "write": ("pwrite", lambda *_: True),
    "close": ("close", is_written_file),
    "rename": ("rename", lambda *_, **__: True),
    "mkdir": ("mkdir", lambda *_, **__: True),
}
ERRORS = {
    errno.EIO: "failed after retries",
    errno.ESTALE: "failed after retries",
    errno.ENOSPC: "no space at the destination",
    errno.EDQUOT: "no space at the destination",
    errno.EACCES: "destination cannot be written",
}
RECOVERS = {("rename", errno.ESTALE)}
"""A directory that somebody replaced is opened anew, and the file gets its place there."""


def fail_once(patch: pytest.MonkeyPatch, operation: str, number: int) -> None:
    """Let the second of the calls fail: by then something was copied, so that the shard is not tried again."""
    name, concerns = OPERATIONS[operation]
    plain = getattr(os, name)
    lock, calls = threading.Lock(), [0]

    def call(*arguments: Any, **more: Any) -> Any:
        if concerns(*arguments, **more):
            with lock:
                calls[0] += 1
                fails = calls[0] == 2
            if fails:
                if name == "close":
                    plain(*arguments)
                raise OSError(number, os.strerror(number))
        return plain(*arguments, **more)

    patch.setattr(os, name, call)


@pytest.mark.parametrize("number", list(ERRORS), ids=lambda number: errno.errorcode[number])
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_an_error_costs_the_entry_it_met_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, number: int
) -> None:
    paths = [f"d{place}/f{place}" for place in range(4)]
    fill(tmp_path, *paths)
    world = listed(tmp_path)
    with monkeypatch.context() as patch:
        fail_once(patch, operation, number)
        summary = copied(world)
    failed = reasons(world)
    recovers = (operation, number) in RECOVERS
    assert set(failed.values()) == (set() if recovers else {ERRORS[number]})
    assert summary["status"] == ("SUCCEEDED" if recovers else "FAILED_WITH_ITEMS")
    assert summary["totals"]["failed"]["entries"] == len(failed) == (0 if recovers else 1)
    there = files(tmp_path / "out")
    assert there == {path: f"content of {path}" for path in paths if path not in failed}
    assert not list((tmp_path / "out").glob(".fanout*"))
    again = world_of(tmp_path, "run-2").run({**REQUEST, "compare": "always"})
    assert again["status"] == "SUCCEEDED"
    assert files(tmp_path / "out") == files(tmp_path / "in")


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
def test_a_shard_that_meets_nothing_but_passing_errors_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    fill(tmp_path, "f", "g")
    world = listed(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(Transient, match=errno.errorcode[number]):
        patch.setattr(os, "pwrite", fail)
        world.copy_all()
    assert copied(world)["status"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.EIO, Transient),
        (errno.ESTALE, Transient),
        (errno.EACCES, ListingIncomplete),
        (errno.ENOMEM, ListingIncomplete),
    ],
)
def test_a_listing_that_fails_is_no_empty_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    fill(tmp_path, "f")
    world = world_of(tmp_path)
    state = world.plan(REQUEST)
    with monkeypatch.context() as patch, pytest.raises(error, match=errno.errorcode[number]):
        patch.setattr(os, "scandir", fail)
        world.list_all(state)
    assert list(world.ledger.keys("segments/failed/"))


@pytest.mark.parametrize("level", ["a", "a/b", "a/b/c"])
def test_a_symlink_swapped_into_the_path_during_the_copy_leads_nobody_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "b/c").mkdir(parents=True)
    (outside / "c").mkdir()
    fill(tmp_path, "a/b/c/f", "a/b/c/g", "other")
    world = listed(tmp_path)
    plain, lock, swapped = os.pwrite, threading.Lock(), list[str]()

    def write(*arguments: Any) -> int:
        with lock:
            place = tmp_path / "out" / level
            if not swapped:
                swapped.append(level)
                if place.exists():
                    place.rename(tmp_path / "out/moved")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(outside)
        return plain(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", write)
        copied(world)
    assert swapped
    assert {str(path.relative_to(outside)) for path in outside.rglob("*")} == {"b", "b/c", "c"}
    assert (tmp_path / "out/other").read_text() == "content of other"
    symlink = "symlink in the destination's path"
    assert set(reasons(world).values()) <= {symlink, "failed after retries", "destination changed"}


def test_what_a_stopped_run_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    fill(tmp_path, "f")
    for name in ("stopped", "probe-p", "doctor-d", "theirs"):
        (tmp_path / f"out/.fanout-staging-{name}/attempt-0").mkdir(parents=True)
        (tmp_path / f"out/.fanout-staging-{name}/attempt-0/0").write_text("half")
    (tmp_path / "out/.fanout-staging-link").symlink_to(tmp_path / "in")
    world, stopped = world_of(tmp_path), (tmp_path / "out/.fanout-staging-stopped").stat()
    Ledger(world.store, "stopped").write(keys.STAGED, Staged(str(stopped.st_ino), stopped.st_uid))
    summary = world.run(REQUEST)
    assert summary["status"] == "SUCCEEDED"
    [note] = summary["notes"]
    assert "/out/.fanout-staging-theirs is a directory that no ledger of this stack notes" in note
    left_over = {path.name.removeprefix(".fanout-staging-") for path in (tmp_path / "out").iterdir()}
    assert left_over == {"f", "probe-p", "doctor-d", "link", "theirs"}  # what is not a run's stays
    assert files(tmp_path / "in") == {"f": "content of f"}
