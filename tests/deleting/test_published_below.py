"""A published tree below the root of a run that does not publish: a sync leaves it, and nothing is written into it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.model.document import Json
from fanout.model.errors import DeleteRefused
from tests.support.mounts import world_of
from tests.support.syncs import names
from tests.support.two_mounts import TwoMounts

NOTE = '{"link": "current", "source": "s3://bucket/tree/"}'
SYNC: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync", "delete_guard": {"max_percent": 100}}
OWN = ("versions/.published-v1", "versions/.publisher", "versions/v1/a", "versions/v1/d/b")


def put(root: Path, path: str, text: str = "x") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def publish(root: Path, note: str = NOTE) -> None:
    """A published tree, as a run leaves it."""
    for path in OWN:
        put(root, path, note if path.endswith(".publisher") else path)
    (root / "current").symlink_to("versions/v1")


def troubles(world: Any) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    for path in ("keep", "d/keep"):
        put(tmp_path / "in", path)
        put(tmp_path / "out", path)
    return tmp_path


@pytest.mark.parametrize("below", ["", "team/site/"])
def test_a_sync_leaves_a_published_tree_below_its_root_and_names_it(mount: Path, below: str) -> None:
    site = mount / "out" / "d" / below if below else mount / "out/d"
    publish(site)
    put(mount / "out", "gone")
    world = world_of(mount)
    summary = world.run(SYNC)
    assert set(OWN) <= set(names(site))
    assert os.readlink(site / "current") == "versions/v1"
    assert not (mount / "out/gone").exists()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert troubles(world) == {f"d/{below}versions/": "part of a published tree"}
    assert [note for note in summary["notes"] if note.startswith("7 entries (") and "of published trees" in note]


def test_what_a_published_tree_holds_does_not_widen_the_guard(mount: Path) -> None:
    """The extras beside a published tree are over the default guard, however much is published there."""
    publish(mount / "out/site")
    for number in range(100):
        put(mount / "out/site", f"versions/v1/more/{number}")
        put(mount / "out", f"extra/{number}")
    with pytest.raises(DeleteRefused, match="103 of the destination's 106 entries"):
        world_of(mount).run({**SYNC, "delete_guard": {}})
    assert (mount / "out/extra/0").exists()


@pytest.mark.parametrize("mode", ["copy", "sync"])
def test_what_would_be_written_into_a_version_is_rejected_by_name(mount: Path, mode: str) -> None:
    publish(mount / "out/site")
    for path in ("site/versions/v1/a", "site/versions/v1/new/c", "site/current", "site/beside"):
        put(mount / "in", path, f"other {path}")
    world = world_of(mount)
    summary = world.run({**SYNC, "mode": mode})
    rejected = {path for path, reason in troubles(world).items() if reason == "place lies in a published tree"}
    assert {"site/versions/v1/a", "site/versions/v1/new/c", "site/versions/v1/new/", "site/current"} <= rejected
    assert summary["balanced"]
    assert (mount / "out/site/versions/v1/a").read_text() == "versions/v1/a"
    assert os.readlink(mount / "out/site/current") == "versions/v1"
    assert not (mount / "out/site/versions/v1/new").exists()
    assert (mount / "out/site/beside").exists()


def test_a_big_file_and_a_hard_link_into_a_version_are_rejected(mount: Path) -> None:
    publish(mount / "out/site")
    put(mount / "in", "site/versions/v1/big")
    os.truncate(mount / "in/site/versions/v1/big", 9 << 20)
    put(mount / "in", "first", "one file")
    os.link(mount / "in/first", mount / "in/site/versions/v1/second")
    world = world_of(mount)
    world.run({**SYNC, "mode": "copy", "limits": {"split_bytes": 8 << 20}})
    rejected = {path for path, reason in troubles(world).items() if reason == "place lies in a published tree"}
    assert {"site/versions/v1/big", "site/versions/v1/second"} <= rejected
    assert not (mount / "out/site/versions/v1/second").exists()
    assert (mount / "out/first").read_text() == "one file"


def test_a_copy_of_a_published_tree_is_written_and_written_again(mount: Path) -> None:
    """A backup of a file system and the way back: the destination holds the source's own note."""
    publish(mount / "in/site")
    assert world_of(mount).run({**SYNC, "mode": "copy"})["status"] == "SUCCEEDED"
    put(mount / "in", "site/versions/v2/a", "second")
    (mount / "in/site/current").unlink()
    (mount / "in/site/current").symlink_to("versions/v2")
    assert world_of(mount, "run-2").run({**SYNC, "mode": "copy"})["status"] == "SUCCEEDED"
    assert os.readlink(mount / "out/site/current") == "versions/v2"
    assert (mount / "out/site/versions/v2/a").read_text() == "second"


def test_a_retry_rejects_them_again_and_what_was_published_since(mount: Path) -> None:
    put(mount / "in", "site/versions/v1/a", "other")
    first = world_of(mount)
    first.list_all(first.plan({**SYNC, "mode": "copy"}))  # stopped before it copied
    publish(mount / "out/site")
    again = world_of(mount, "run-2")
    again.store = first.store
    again.run({**SYNC, "mode": "copy", "resume_from": "run-1"})
    assert troubles(again)["site/versions/v1/a"] == "place lies in a published tree"
    assert (mount / "out/site/versions/v1/a").read_text() == "versions/v1/a"


def test_between_two_mounts_the_function_at_the_destination_says_what_is_published(tmp_path: Path) -> None:
    flow = TwoMounts(tmp_path)
    put(flow.source_root, "keep")
    put(flow.source_root, "site/versions/v1/new", "other")
    put(flow.source_root, "site/current", "a file")
    put(flow.root, "keep")
    publish(flow.root / "site")
    flow.run({"mode": "sync", "delete_guard": {"max_percent": 100}})
    found = troubles(flow.world)
    assert found["site/versions/v1/new"] == found["site/current"] == "place lies in a published tree"
    assert set(OWN) <= set(names(flow.root / "site"))
    assert os.readlink(flow.root / "site/current") == "versions/v1"


def test_a_move_whose_source_holds_a_published_tree_leaves_it_there(mount: Path) -> None:
    publish(mount / "in/site")
    world = world_of(mount)
    world.run({"source": "efs:///in", "destination": "efs:///out", "mode": "move"})
    assert set(OWN) <= set(names(mount / "in/site"))
    assert os.readlink(mount / "in/site/current") == "versions/v1"
    assert not (mount / "in/keep").exists()
    assert set(troubles(world).values()) == {"part of a published tree"}
