"""Entries that a sync or a move could not delete."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

from fanout.adapters.posix.deletion import OwnUnlinks
from fanout.adapters.posix.tree import PosixTree
from fanout.deleting import delete_shard as deleting
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.remedies.table import follows
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.publishing import PublishingWorld

SYNC: Json = {"mode": "sync", "delete_guard": {"max_percent": 99.0}}
MOVE: Json = {"mode": "move"}


def _with_extra(lab: Lab) -> None:
    for number in range(20):
        lab.write(f"keep/{number}")
        lab.write(f"keep/{number}", end="destination")
    lab.write("gone/old", end="destination")


def _before_deletion(act: Any) -> Any:
    """``act`` is done once, right before the first deletion."""
    delete, left = deleting.delete_shard, iter(range(1))

    def deleted(*arguments: Any) -> Any:
        if next(left, None) is not None:
            act()
        return delete(*arguments)

    return patch.object(deleting, "delete_shard", deleted)


@follows(Reason.NOT_EMPTY)
def nobody_else_writes(lab: Lab) -> None:
    _with_extra(lab)
    with _before_deletion(lambda: lab.write("gone/new", end="destination")):
        lab.fails(Reason.NOT_EMPTY, SYNC)
    lab.start(SYNC)
    assert not (lab.out / "gone").exists()


@follows(Reason.APPEARED)
def sync_again(lab: Lab) -> None:
    _with_extra(lab)
    with _before_deletion(lambda: lab.write("gone/old", "longer than it was")):
        lab.fails(Reason.APPEARED, SYNC)
    lab.start(SYNC)
    assert lab.held() == lab.held("source")


@follows(Reason.HOLDS_KEPT)
def follow_the_remedy_of_what_it_holds(lab: Lab) -> None:
    _with_extra(lab)
    with _before_deletion(lambda: lab.write("gone/old", "longer than it was", "destination")):
        lab.fails(Reason.HOLDS_KEPT, SYNC)
    assert set(lab.runs[-1].troubles) == {"gone/old"}
    lab.start(SYNC)
    assert not (lab.out / "gone").exists()


def _between_two_names(lab: Lab) -> None:
    os.link(lab.write("f"), lab.root / "g")
    unlink = OwnUnlinks.unlink

    def killed(self: OwnUnlinks, inode: str, name: str, directory: int, file: int | None) -> None:
        unlink(self, inode, name, directory, file)
        self._left_ns.clear()  # another task follows

    with patch.object(OwnUnlinks, "unlink", killed):
        lab.fails(Reason.NAME_TOUCHED, MOVE)
    assert len(lab.held("source")) == 1


@follows(Reason.NAME_TOUCHED)
def retry_what_is_left(lab: Lab) -> None:
    _between_two_names(lab)
    lab.retry()
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content", "g": "content"})
    assert (lab.out / "f").samefile(lab.out / "g")


@follows(Reason.NAME_TOUCHED, 1)
def move_what_is_left(lab: Lab) -> None:
    _between_two_names(lab)
    lab.start(MOVE)
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content", "g": "content"})


@follows(Reason.SOURCE_NOT_DELETED)
def permission_on_its_directory(lab: Lab) -> None:
    lab.write("d/f")
    (lab.root / "d").chmod(0o755)
    move = MOVE | {"verify": "content"}  # nobody keeps an owner
    lab.fails(Reason.SOURCE_NOT_DELETED, move, denied=True)
    (lab.root / "d").chmod(0o777)
    lab.start(move, denied=True)
    assert (lab.held("source"), lab.held()) == ({}, {"d/f": "content"})


@follows(Reason.SOURCE_NOT_DELETED, 0, "bucket mount")
def name_its_bucket(lab: Lab) -> None:
    lab.write("f")
    bucket = lab.buckets["source"]
    lab.first.clock.time = 10.0**10  # the object is older than the run
    refused = {"f": ItemError(Reason.SOURCE_NOT_DELETED, "403 AccessDenied")}
    with patch.object(bucket, "delete", lambda _entries: refused):
        lab.fails(Reason.SOURCE_NOT_DELETED, MOVE)
    lab.start(MOVE)
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content"})


@follows(Reason.CAME_LATER)
def move_again(lab: Lab) -> None:
    lab.write("f")
    lab.fails(Reason.CAME_LATER, MOVE, during=lambda world: _with_a_late_file(lab, world))
    lab.start(MOVE)
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content", "late": "content"})


@follows(Reason.NOT_COPIED)
def follow_the_remedy_of_the_other_name(lab: Lab) -> None:
    os.link(lab.write("f"), lab.root / "g")
    denied = ItemError(Reason.DESTINATION_DENIED, "link at the destination: EACCES")
    with patch.object(PosixTree, "link", side_effect=denied):
        lab.fails(Reason.NOT_COPIED, MOVE)
    lab.retry()
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content", "g": "content"})
    assert (lab.out / "f").samefile(lab.out / "g")


@follows(Reason.HOLDS_MORE)
def move_what_it_holds(lab: Lab) -> None:
    lab.write("d/f")
    lab.fails(Reason.HOLDS_MORE, MOVE, during=lambda world: _with_a_late_file(lab, world, "d/late"))
    lab.start(MOVE)
    assert not (lab.root / "d").exists()


@follows(Reason.HOLDS_MORE)
def delete_what_it_holds(lab: Lab) -> None:
    lab.write("d/f")
    lab.fails(Reason.HOLDS_MORE, MOVE, during=lambda world: _with_a_late_file(lab, world, "d/late"))
    (lab.root / "d/late").unlink()
    lab.start(MOVE)
    assert not (lab.root / "d").exists()


def _with_a_late_file(lab: Lab, world: World, path: str = "late") -> Json:
    lab.first.clock.time = os.stat(lab.root).st_ctime - 10  # the late file comes after the run began
    world.list_all(world.plan(lab.request | MOVE))
    world.copy_all()
    world.finish_all()
    lab.write(path)
    return world.end("all")


@follows(Reason.PUBLISHED)
def exclude_it(lab: Lab) -> None:
    _published(lab)
    lab.start({**SYNC, "exclude": ["site/**"]})
    assert (lab.out / "site/current").is_symlink()


@follows(Reason.PUBLISHED)
def an_end_beside_it(lab: Lab) -> None:
    _published(lab)
    lab.start({**SYNC, "destination": "efs:///out/beside"})
    assert (lab.out / "site/current").is_symlink()


def _into_a_version(lab: Lab) -> None:
    _publish(lab)
    lab.write("site/versions/v1/a", "other")
    lab.write("f")
    lab.fails(Reason.IN_PUBLISHED, {"mode": "copy"})


@follows(Reason.IN_PUBLISHED)
def leave_it_out(lab: Lab) -> None:
    _into_a_version(lab)
    lab.start({"mode": "copy", "exclude": ["site/**"]})
    assert (lab.out / "site/versions/v1/a").read_text() == "published"


@follows(Reason.IN_PUBLISHED)
def a_destination_beside_it(lab: Lab) -> None:
    _into_a_version(lab)
    lab.start({"mode": "copy", "destination": "efs:///out/beside"})
    assert (lab.out / "beside/site/versions/v1/a").read_text() == "other"


def _publish(lab: Lab) -> None:
    published = PublishingWorld(run_id="v1", mount=lab.out)
    assert isinstance(published.source, MemoryTree)
    published.source.put("a", Kind.FILE, b"published")
    published.publish()


def _published(lab: Lab) -> None:
    _publish(lab)
    for number in range(20):
        lab.write(f"keep/{number}")
        lab.write(f"keep/{number}", end="destination")
    lab.fails(Reason.PUBLISHED, SYNC)


def _unreadable(lab: Lab) -> None:
    lab.first.clock.time = 10.0**10  # the object is older than the run
    lab.write("f", unreadable={"mode": "?"})
    lab.fails(Reason.ATTRIBUTE_UNREADABLE, MOVE)
    assert lab.held("source") == {"f": "content"}


@follows(Reason.ATTRIBUTE_UNREADABLE, 0, "bucket mount")
def correct_the_metadata(lab: Lab) -> None:
    _unreadable(lab)
    lab.write("f", mode=0o100644)
    lab.start(MOVE)
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content"})


@follows(Reason.ATTRIBUTE_UNREADABLE, 0, "bucket mount")
def request_the_attribute(lab: Lab) -> None:
    _unreadable(lab)
    lab.start({**MOVE, "attributes": {"file_mode": "0644"}})
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content"})


@follows(Reason.ATTRIBUTE_UNREADABLE, 0, "bucket mount")
def compare_content_alone(lab: Lab) -> None:
    _unreadable(lab)
    lab.start({**MOVE, "verify": "content"})
    assert (lab.held("source"), lab.held()) == ({}, {"f": "content"})
