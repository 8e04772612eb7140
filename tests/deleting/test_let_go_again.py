"""What a move lets go is counted, and tags are compared, also of big files and by a retry that has earlier proofs."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.facts.tuning import BLOCK_BYTES
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import AccessDenied
from fanout.model.outcome import Reason
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import World
from tests.support.memory import MemoryEntryCopier, MemoryTree
from tests.support.memory_files import Stored
from tests.support.moves import compared, held, reasons, to_delete

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///out", "mode": "move"}
INSIDE_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "s3://b-bucket/tree/", "mode": "move"}
TO_S3: Json = {"source": "efs:///in", "destination": "s3://a-bucket/tree/", "mode": "move"}
ALLOW: Json = {"on_not_holdable": "allow"}
CUT: Json = {"limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 1}}
NOT_HOLDABLE = Reason.NOT_HOLDABLE.value
LET_GO = "moved without what the destination cannot hold, as the request allows"
LANGUAGE = {"content-language": "de"}
BIG = b"x" * (2 * BLOCK_BYTES + 1)


def from_s3(tmp_path: Path, data: bytes, attributes: Attributes | None = None) -> World:
    changes = itertools.count(1)
    source = MemoryTree(changes)
    source.put("a", Kind.FILE, data, attributes or Attributes())
    return World(changes, source, PosixTree(tmp_path, "out", "run-1", "d"))


def inside_s3(data: bytes, tags: int, copied_tags: int) -> World:
    changes = itertools.count(1)
    source, destination = MemoryTree(changes), MemoryTree(changes)
    source.put("a", Kind.FILE, data, Attributes(tags=tags))
    destination.put("a", Kind.FILE, data, Attributes(tags=copied_tags))
    return World(changes, source, destination, copier=MemoryEntryCopier(source, destination))


def linked(tmp_path: Path) -> World:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/one").write_bytes(b"x")
    os.link(tmp_path / "in/one", tmp_path / "in/two")
    return World(source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=MemoryTree())


def stopped_before_deletion(world: World, request: Json) -> None:
    """A move up to its comparison, which is whole, and stopped there."""
    world.list_all(world.plan(request))
    world.copy_all()
    world.finish_all()
    begin_deletion(compared(world).context())


def at_source(world: World) -> dict[str, Stored]:
    assert isinstance(world.source, MemoryTree)
    return world.source.contents()


def let_go(summary: Json) -> list[str]:
    return [note for note in summary["notes"] or [] if note.startswith(LET_GO)]


@pytest.mark.parametrize("allowed", [ALLOW, {"verify": "content"}], ids=["allow", "content"])
def test_a_big_file_that_lost_something_is_counted(tmp_path: Path, allowed: Json) -> None:
    world = from_s3(tmp_path, BIG, Attributes(headers=LANGUAGE, tags=1))
    summary = world.run({**FROM_S3, **CUT, **allowed})
    assert summary["status"] == "SUCCEEDED", reasons(world)
    assert at_source(world) == {}
    assert let_go(summary) == [f"{LET_GO}: 1, for example a (Content-Language 'de', 1 tag)"]


def test_a_big_file_of_which_the_destination_cannot_hold_all_stays(tmp_path: Path) -> None:
    world = from_s3(tmp_path, BIG, Attributes(tags=1))
    world.run({**FROM_S3, **CUT})
    assert reasons(world) == {"a": NOT_HOLDABLE}


def test_a_retry_counts_what_an_earlier_run_compared(tmp_path: Path) -> None:
    world = from_s3(tmp_path, b"x", Attributes(headers=LANGUAGE))
    stopped_before_deletion(world, {**FROM_S3, **ALLOW})
    again = world.next_run("run-2")
    again.destination = PosixTree(tmp_path, "out", "run-2", "d")
    summary = again.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED", reasons(again)
    assert let_go(summary) == [f"{LET_GO}: 1, for example a (Content-Language 'de')"]


def test_a_retry_counts_names_of_one_file_that_an_earlier_run_compared(tmp_path: Path) -> None:
    world = linked(tmp_path)
    stopped_before_deletion(world, {**TO_S3, **ALLOW})
    for run_id in ("run-2", "run-3"):
        again = world.next_run(run_id)
        again.source = PosixTree(tmp_path, "in", run_id, "s", "source")
        if run_id == "run-2":
            stopped_before_deletion(again, {"resume_from": "run-1"})
    summary = again.run({"resume_from": "run-2"})
    assert summary["status"] == "SUCCEEDED", reasons(again)
    assert held(tmp_path / "in") == {}
    (note,) = let_go(summary)
    assert note.startswith(f"{LET_GO}: 2, ")


def tagged_since(world: World, request: Json, next_destination: Any) -> World:
    """A retry of a move, after somebody gave an object a tag that its earlier comparison did not see."""
    stopped_before_deletion(world, request)
    stored = at_source(world)["a"]
    stored.attributes.tags = 1  # which moves neither ETag nor time
    again = world.next_run("run-2")
    again.destination = next_destination
    return again


def test_a_retry_sees_tags_that_came_since_an_earlier_run_compared(tmp_path: Path) -> None:
    destination = PosixTree(tmp_path, "out", "run-2", "d")
    again = tagged_since(from_s3(tmp_path, b"x"), FROM_S3, destination)
    again.run({"resume_from": "run-1"})
    assert reasons(again) == {"a": NOT_HOLDABLE}
    assert set(at_source(again)) == {"a"}


def test_a_retry_counts_tags_that_came_since_and_may_go(tmp_path: Path) -> None:
    destination = PosixTree(tmp_path, "out", "run-2", "d")
    again = tagged_since(from_s3(tmp_path, b"x"), {**FROM_S3, **ALLOW}, destination)
    assert let_go(again.run({"resume_from": "run-1"})) == [f"{LET_GO}: 1, for example a (1 tag)"]


def test_a_retry_inside_s3_compares_tags_that_came_since() -> None:
    world = inside_s3(b"x", 0, 0)
    again = tagged_since(world, INSIDE_S3, world.destination)
    again.run({"resume_from": "run-1"})
    assert reasons(again) == {"a": Reason.METADATA_DIFFERS.value}
    assert set(at_source(again)) == {"a"}


@pytest.mark.parametrize(("here", "there"), [(1, 1), (1, 0), (2, 1), (0, 1)])
def test_inside_s3_tags_of_a_big_file_are_compared(here: int, there: int) -> None:
    world = inside_s3(BIG, here, there)
    world.run({**INSIDE_S3, **CUT, "compare": "checksum"})
    assert reasons(world) == ({"a": Reason.METADATA_DIFFERS.value} if there < here else {})
    assert set(at_source(world)) == ({"a"} if there < here else set())


@pytest.mark.parametrize("request_", [FROM_S3, INSIDE_S3], ids=["to a mount", "inside S3"])
def test_a_big_file_stays_where_nothing_shows_whether_it_has_tags(tmp_path: Path, request_: Json) -> None:
    world = from_s3(tmp_path, BIG) if request_ is FROM_S3 else inside_s3(BIG, 0, 0)

    def denied(_path: str) -> dict[str, str]:
        raise AccessDenied("GetObjectTagging", "s3://a-bucket/tree/a", "403")

    with patch.object(world.source, "tags", denied):
        world.run({**request_, **CUT})
    assert reasons(world) == {"a": Reason.SOURCE_DENIED.value}


def test_what_was_proven_is_not_read_again(tmp_path: Path) -> None:
    """The look at tags is a HEAD."""
    world = from_s3(tmp_path, b"x")
    stopped_before_deletion(world, FROM_S3)
    again = world.next_run("run-2")
    again.destination = destination = PosixTree(tmp_path, "out", "run-2", "d")
    opened: list[str] = []
    open_it = destination.open

    def noting(entry: Entry) -> Any:
        opened.append(entry.path)
        return open_it(entry)

    with patch.object(destination, "open", noting):
        assert again.run({"resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert opened == []


@pytest.mark.parametrize("changed", [["a"], ["a", "b"]])
def test_what_stays_at_the_source_is_not_counted(tmp_path: Path, changed: list[str]) -> None:
    world = from_s3(tmp_path, b"x", Attributes(headers=LANGUAGE))
    assert isinstance(world.source, MemoryTree)
    world.source.put("b", Kind.FILE, b"y", Attributes(headers=LANGUAGE))
    world.list_all(world.plan({**FROM_S3, **ALLOW}))
    world.copy_all()
    world.finish_all()
    inner = compared(world)
    begin_deletion(inner.context())
    for name in changed:
        (tmp_path / "out" / name).write_bytes(b"others")
    for shard in to_delete(inner):
        delete_shard(shard, inner.context())
    remove_directories(inner.context())
    summarise_transfer(None, world.context())
    assert set(at_source(world)) == set(changed)
    gone = [f"{LET_GO}: 1, for example b (Content-Language 'de')"] if "b" not in changed else []
    assert let_go(world.ledger.read_json("summary.json")) == gone
