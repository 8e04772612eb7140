"""mode: move, when tasks run twice, wake up late, break off or are gone on with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec import convert

from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.model.document import Json
from fanout.model.errors import Superseded
from fanout.model.shard import Shard
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.verifying import verify_shard as module
from fanout.verifying.verify_shard import verify_shard
from tests.support.flow import World
from tests.support.mounts import world_of
from tests.support.moves import MOVE, compared, copied, filled, held, names, to_delete


def test_tasks_may_run_twice(tmp_path: Path) -> None:
    contents = filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    for row in inner.ledger.read_json("shards.json"):
        assert verify_shard_again(inner, row)
    begin_deletion(inner.context())
    begin_deletion(inner.context())
    shards = to_delete(inner)
    for shard in shards * 2:
        assert delete_shard(shard, inner.context())["done"]
    for _ in range(2):
        assert remove_directories(inner.context())["done"]
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert (summary["status"], summary["totals"]["deleted"]["entries"]) == ("SUCCEEDED", 25)
    assert (names(tmp_path / "in"), held(tmp_path / "out")) == (set(), contents)


def verify_shard_again(inner: World, row: Json) -> bool:
    return bool(verify_shard(convert(row["shard"], Shard), inner.context())["done"])


def test_two_attempts_that_compare_at_the_same_time_prove_each_entry_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    with monkeypatch.context() as patch:
        patch.setattr(module, "records", lambda shard_id, ledger: [])  # the other one has not written yet
        for row in inner.ledger.read_json("shards.json"):
            assert verify_shard_again(inner, row)
    inner.delete_all()
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert (summary["status"], summary["totals"]["deleted"]["entries"]) == ("SUCCEEDED", 25)


def test_a_move_that_was_fenced_at_its_source_deletes_nothing_more(tmp_path: Path) -> None:
    filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    begin_deletion(inner.context())
    later = world_of(tmp_path, "run-2", world.store)
    later.list_all(later.plan({**MOVE, "source": "efs:///out", "destination": "efs:///in"}))
    contents = held(tmp_path / "in")
    for shard in to_delete(inner):
        with pytest.raises(Superseded):
            delete_shard(shard, inner.context())
    assert held(tmp_path / "in") == contents


def test_a_source_whose_root_was_replaced_stays(tmp_path: Path) -> None:
    filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    begin_deletion(inner.context())
    (tmp_path / "in").rename(tmp_path / "moved away")
    shutil.copytree(tmp_path / "moved away", tmp_path / "in", symlinks=True)
    inner.source = world_of(tmp_path).source
    for shard in to_delete(inner):
        delete_shard(shard, inner.context())
    assert len(held(tmp_path / "in")) == 13
    assert len(held(tmp_path / "moved away")) == 13


def test_a_run_that_was_resumed_moves_what_is_left(tmp_path: Path) -> None:
    contents = filled(tmp_path)
    world = copied(tmp_path)
    inner = compared(world)
    begin_deletion(inner.context())
    shards = to_delete(inner)
    delete_shard(shards[0], inner.context())  # and here it was stopped
    following, trees = world.next_run("run-2"), world_of(tmp_path, "run-2")
    following.source, following.destination = trees.source, trees.destination
    summary = following.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED", summary
    assert (names(tmp_path / "in"), held(tmp_path / "out")) == (set(), contents)


def test_a_run_that_broke_off_gives_up_its_right_to_delete(tmp_path: Path) -> None:
    contents = filled(tmp_path)
    world = copied(tmp_path)
    assert list((tmp_path / "in").glob(".fanout*"))
    assert remove_directories(world.context(), broken=True) == {"removed": 0, "done": True}
    assert not list((tmp_path / "in").glob(".fanout*"))
    assert held(tmp_path / "in") == contents


def test_what_came_before_a_run_was_resumed_is_left_to_the_next_one_too(tmp_path: Path) -> None:
    filled(tmp_path)
    world = copied(tmp_path)
    (tmp_path / "in/d0/later").write_bytes(b"later")
    following, trees = world.next_run("run-2"), world_of(tmp_path, "run-2")
    following.source, following.destination = trees.source, trees.destination
    following.clock.time = (tmp_path / "in/d0/later").stat().st_ctime + 3600.0
    summary = following.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED", summary
    assert held(tmp_path / "in") == {"d0/later": b"later"}
