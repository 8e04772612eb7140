"""A reason has one result, whichever state finds it and however the source is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.deletions import deleted_directories
from fanout.model.entry import Kind
from fanout.model.outcome import Reason, Result
from fanout.shards.record import each_once, records
from tests.support.flow import World
from tests.support.manifests import failures, json_lines, put
from tests.support.memory import MemoryTree
from tests.support.syncs import KEEP, SYNC, copied, deletions, ended, reasons, write

TO_MOUNT = {"source": "s3://a-bucket/x/", "destination": "efs:///out"}


def bucket_to_mount(mount: Path, *files: str) -> World:
    source = MemoryTree()
    for path in files:
        source.put(path, Kind.FILE, b"content")
    (mount / "out").mkdir()
    return World(source=source, destination=PosixTree(mount, "out", "run-1", "n"))


def test_another_kind_in_the_way_is_rejected_by_the_listing_and_by_the_copying(tmp_path: Path) -> None:
    world = bucket_to_mount(tmp_path, "a", "d/f", "good")
    (tmp_path / "out/a").mkdir()  # the listing sees it at the very path
    (tmp_path / "out/d").write_text("a file")  # the copying meets it above the path
    summary = world.run(TO_MOUNT)
    assert failures(world) == dict.fromkeys(("a", "d/f"), ("rejected", "destination has another kind of entry"))
    assert (summary["balanced"], summary["totals"]["rejected"]["entries"]) == (True, 2)


@pytest.mark.parametrize(("on_conflict", "result"), [("fail", "rejected"), ("skip", "skipped")])
@pytest.mark.parametrize("listed", [True, False])
def test_a_name_is_rejected_or_skipped_whether_a_listing_or_a_manifest_names_it(
    tmp_path: Path, on_conflict: str, result: str, listed: bool
) -> None:
    names = ["../x", "a//b", "n" * 256, "a\0b", ".fanout-staging-1/f"]
    world = bucket_to_mount(tmp_path, *names, "good")
    manifest = {} if listed else {"manifest": put(world, json_lines([*names, "good"]))["manifest"]}
    summary = world.run({**TO_MOUNT, **manifest, "on_conflict": on_conflict})
    counts = {name: summary["totals"][name]["entries"] for name in ("copied", "rejected", "skipped", "failed")}
    assert counts == {"copied": 1, "rejected": 0, "skipped": 0, "failed": 0, result: len(names)}


def test_a_directory_that_filters_may_protect_is_skipped_for_a_reason_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "in", *KEEP)
    write(tmp_path / "out", *KEEP, "cache/old", "cache/kept.log")
    world = copied(tmp_path, {**SYNC, "exclude": ["*.log"]})
    begin_deletion(world.context())
    for shard in deletions(world):
        delete_shard(shard, world.context())
    assert ended(world)["status"] == "SUCCEEDED"
    assert reasons(world) == {}
    directories = deleted_directories(world.ledger)
    found = [records(one.shard.id, world.ledger) for one in directories]
    outcomes = [outcome for one in found for _, _, outcome in each_once(one, world.ledger)]
    assert [(one.path, one.result, one.reason) for one in outcomes] == [
        ("cache/", Result.SKIPPED, Reason.FILTERED_NOT_EMPTY)
    ]
