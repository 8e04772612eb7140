"""Obstacles of an entry at the destination."""

from __future__ import annotations

import errno
import os
import time
from typing import Any
from unittest.mock import patch

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import follows
from tests.support.flow import World

KEPT: Json = {"backup_to": "efs:///kept"}


@follows(Reason.DESTINATION_KIND)
def move_it_away(lab: Lab) -> None:
    lab.write("a")
    lab.write("b/f")
    lab.write("a/in-the-way", end="destination")
    lab.write("b", end="destination")
    lab.fails(Reason.DESTINATION_KIND)
    for name in ("a", "b"):
        (lab.out / name).rename(lab.mount / name)
    lab.start()
    assert lab.held() == {"a": "content", "b/f": "content"}


@follows(Reason.DESTINATION_KIND, 1)
def have_it_replaced(lab: Lab) -> None:
    for number in range(20):
        lab.write(f"more/{number}")
    lab.write("a")
    lab.write("a/in-the-way", end="destination")
    lab.fails(Reason.DESTINATION_KIND)
    time.sleep(0.02)  # what is as young as a tick of the file system's clock may have come after the run began
    lab.start({"mode": "sync", "other_kind": "replace"})
    assert lab.held()["a"] == "content"


@follows(Reason.LINK_IN_PATH)
def a_directory_in_place_of_the_symlink(lab: Lab) -> None:
    lab.write("d/e/f")
    (lab.mount / "elsewhere").mkdir()
    (lab.out / "d").symlink_to("../elsewhere")
    lab.fails(Reason.LINK_IN_PATH, {"exclude": ["d/"]}, during=lambda world: _with_a_symlink_in_the_path(lab, world))
    (lab.out / "d").unlink()
    (lab.out / "d").mkdir()
    lab.retry()
    assert lab.held() == {"d/e/f": "content"}


def _with_a_symlink_in_the_path(lab: Lab, world: World) -> Json:
    (lab.out / "d").rename(lab.out / "link")
    world.list_all(world.plan(lab.request))
    (lab.out / "link").rename(lab.out / "d")
    world.copy_all()
    world.finish_all()
    return world.end()


@follows(Reason.DESTINATION_DENIED)
def write_permission(lab: Lab) -> None:
    lab.write("d/f")
    lab.write("g")
    (lab.out / "d").mkdir()
    lab.fails(Reason.DESTINATION_DENIED, denied=True)
    (lab.out / "d").chmod(0o777)
    lab.retry()
    assert lab.held() == {"d/f": "content", "g": "content"}


@follows(Reason.DESTINATION_DENIED, 0, "mount bucket")
def permission_to_put(lab: Lab) -> None:
    lab.write("f")
    lab.buckets["destination"].refuses["f"] = ItemError(Reason.DESTINATION_DENIED, "403 AccessDenied")
    lab.fails(Reason.DESTINATION_DENIED)
    lab.buckets["destination"].refuses.clear()
    lab.retry()
    assert lab.held() == {"f": "content"}


def _full_of_names(lab: Lab) -> Any:
    """A file system that gives a file two names at most."""
    link = os.link

    def refuse(source: Any, target: Any, **more: Any) -> None:
        if os.stat(source, dir_fd=more.get("src_dir_fd"), follow_symlinks=False).st_nlink >= 2:
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
        link(source, target, **more)

    lab.write("f")
    os.link(lab.write("f", "old", "destination"), lab.out / "name")
    return patch.object(os, "link", refuse)


@follows(Reason.LINK_LIMIT)
def remove_names(lab: Lab) -> None:
    with _full_of_names(lab):
        lab.fails(Reason.LINK_LIMIT, KEPT)
        (lab.out / "name").unlink()
        lab.retry()
    assert lab.held() == {"f": "content"}


@follows(Reason.LINK_LIMIT, 1)
def no_backup(lab: Lab) -> None:
    with _full_of_names(lab):
        lab.fails(Reason.LINK_LIMIT, KEPT)
        lab.start()
    assert lab.held() == {"f": "content", "name": "old"}


@follows(Reason.NO_SPACE)
def free_space(lab: Lab) -> None:
    for number in range(4):
        lab.write(f"d/{number}")
    write, left = os.pwrite, iter(range(2))

    def full(*arguments: Any) -> int:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(*arguments)

    with patch.object(os, "pwrite", full):
        lab.fails(Reason.NO_SPACE)
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.NO_SPACE)
def free_space_by_deleting_copies(lab: Lab) -> None:
    for number in range(4):
        lab.write(f"d/{number}")
    write, left = os.pwrite, iter(range(2))

    def full(*arguments: Any) -> int:
        if next(left, None) is None:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        return write(*arguments)

    with patch.object(os, "pwrite", full):
        lab.fails(Reason.NO_SPACE)
    for file in list((lab.out / "d").iterdir()):
        file.unlink()
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.DESTINATION_VANISHED, 0, "mount bucket")
def parts_are_written_again(lab: Lab) -> None:
    lab.write("f", "x" * (2 * tuning.BLOCK_BYTES + 1))
    bucket = lab.buckets["destination"]
    bucket.loses_parts = True
    lab.fails(Reason.DESTINATION_VANISHED, {"limits": {"split_bytes": tuning.BLOCK_BYTES}})
    bucket.loses_parts = False
    lab.retry()
    assert lab.held() == lab.held("source")


@follows(Reason.DESTINATION_CHANGED, 0, "mount bucket")
def nobody_else_writes(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.DESTINATION_CHANGED, during=lambda world: _beside_a_writer(lab, world))
    lab.start()
    assert lab.held() == {"f": "content"}


def _beside_a_writer(lab: Lab, world: World) -> Json:
    world.list_all(world.plan(lab.request))
    lab.write("f", "theirs", "destination")
    world.copy_all()
    world.finish_all()
    return world.end()
