"""A tree that is too large for one function is finished by a Map, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fanout.facts import tuning
from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import LedgerBroken, Superseded
from tests.finishing.test_finish_tree import Recorder
from tests.support.finishing import MODES, difference, divided, filled_tree
from tests.support.flow import World
from tests.support.mounts import world_of
from tests.support.nobody import as_nobody, open_directory

REQUEST = {"source": "efs:///in", "destination": "efs:///out"}


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    divided(monkeypatch)


def copied(mount: Path) -> World:
    world = world_of(mount)
    world.list_all(world.plan(REQUEST))
    world.copy_all()
    return world


def rounds(world: World) -> Iterator[list[FinishShard]]:
    """The rounds, each mapped when the next one is asked for."""
    mapped = -1
    while not (answer := finish_tree(world.context(), mapped=mapped))["done"]:
        rows = world.ledger.read_json(answer["key"].removeprefix(world.ledger.prefix))
        assert answer["count"] == len(rows)
        yield [convert(row["shard"], FinishShard) for row in rows]
        finish_round(world, answer)
        mapped = answer["round"]


def finish_round(world: World, answer: Json) -> None:
    """FinishShards, each shard until it is done; nothing where FinishTree goes on by itself."""
    if answer["count"]:
        world.walk("FinishShards", world.state(finish=answer), "FinishTree")


def test_links_come_before_directories_and_closed_ones_last_and_deepest_first(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    first, second, *others = rounds(world)
    assert all(shard.links and not shard.directories and not shard.closed for shard in first)
    assert len(second) > 2 and all(shard.directories and not shard.links for shard in second)
    depths = [{file.depth for shard in one for file in shard.closed} for one in others]
    assert [max(one) for one in depths] == sorted((max(one) for one in depths), reverse=True)
    assert world.end()["status"] == "SUCCEEDED"
    assert not difference(tmp_path)


def test_a_user_who_is_not_root_finishes_what_modes_close(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_directory() as mount:
        mount.chmod(0o777)

        def run() -> Any:
            filled_tree(mount / "in")
            world = copied(mount)
            return [len(list(rounds(world))), world.end()["status"], difference(mount)]

        number, status, found = as_nobody(run)
        assert (status, found) == ("SUCCEEDED", [])
        assert number >= 2
        assert {one & 0o700 for one in MODES} > {0o700}


def test_a_small_tree_is_finished_by_one_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "FINISH_ALONE_SECONDS", 20.0)
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    assert list(rounds(world)) == []
    assert not list(world.ledger.keys("finishing/"))
    assert not difference(tmp_path)


def test_what_was_staged_stays_until_every_shard_is_proven_done(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    for shards in rounds(world):
        assert shards
        assert list((tmp_path / "out").glob(".fanout*"))
        assert not list(world.ledger.keys("fencing/finished"))
    assert not list((tmp_path / "out").glob(".fanout*"))
    assert list(world.ledger.keys("fencing/withdrawn"))


def test_a_task_that_is_repeated_hands_out_the_same_round_until_it_was_mapped(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    first = finish_tree(world.context())
    assert finish_tree(world.context()) == first
    finish_round(world, first)
    assert finish_tree(world.context(), mapped=first["round"])["round"] == 1


def test_what_the_map_left_is_finished_by_the_next_task(tmp_path: Path) -> None:
    """The Map tolerates children that failed for good."""
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    mapped, answer = -1, finish_tree(world.context())
    while not answer["done"]:
        mapped = answer["round"]
        answer = finish_tree(world.context(), mapped=mapped)
    assert mapped >= 1
    assert world.end()["status"] == "SUCCEEDED"
    assert not difference(tmp_path)


def test_a_shard_that_runs_twice_changes_nothing(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    for shards in rounds(world):
        for shard in shards + shards:
            assert finish_shard(shard, world.context()) == {"done": True}
    assert world.end()["status"] == "SUCCEEDED"
    assert not difference(tmp_path)


def test_a_shard_goes_on_where_its_time_was_up(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    rows = [row for key in world.ledger.keys("directories/") for row in world.ledger.read_rows(key)]
    assert len(rows) > 30
    world.clock.step = 60.0
    assert sum(1 for _ in rounds(world)) >= 2
    world.clock.step = 0.0
    assert world.end()["status"] == "SUCCEEDED"
    assert not difference(tmp_path)


def test_a_shard_after_the_end_of_the_run_writes_nothing(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    kept = [shard for shards in rounds(world) for shard in shards]
    world.end()
    (tmp_path / "out/d0").chmod(0o711)
    for key in list(world.ledger.keys("finishing/stands/")):
        world.store.remove([world.ledger.prefix + key])
    for shard in kept:
        assert finish_shard(shard, world.context())["done"]
    assert (tmp_path / "out/d0").stat().st_mode & 0o777 == 0o711


def test_a_run_that_was_fenced_finishes_nothing(tmp_path: Path) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)
    answer = finish_tree(world.context())
    [staging] = (tmp_path / "out").glob(".fanout*")
    staging.rename(tmp_path / "gone")
    world.destination.close()  # each function sees the mount anew
    with pytest.raises(Superseded):
        finish_round(world, answer)
        finish_round(world, finish_tree(world.context(), mapped=answer["round"]))


@pytest.mark.parametrize("lost", ["finishing/round-0000", "finishing/closed/"])
def test_a_part_of_the_ledger_that_is_missing_is_told(tmp_path: Path, lost: str) -> None:
    filled_tree(tmp_path / "in")
    world = copied(tmp_path)

    def lose() -> None:
        for key in list(world.ledger.keys(lost)):
            world.store.remove([world.ledger.prefix + key])

    with pytest.raises(LedgerBroken):
        for shards in rounds(world):
            lose()
            for shard in shards:
                finish_shard(shard, world.context())
            if lost.endswith("0000"):
                finish_tree(world.context(), mapped=0)


def test_directories_that_cannot_be_set_are_counted_by_whichever_shard_found_them() -> None:
    world = World(destination=Recorder(frozenset({"d3/", "d7/"})))
    for number in range(40):
        world.source.put(f"d{number}/", Kind.DIRECTORY, attributes=Attributes(mode=0o040755))  # type: ignore[attr-defined]
    world.list_all(world.plan({"source": "s3://a-bucket/in/", "destination": "efs:///copy"}))
    world.copy_all()
    run = partial(finish_tree, world.context())
    answer = run()
    assert answer["done"] or answer["count"]
    world.finish_all()
    summary = world.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert [row["path"] for row in world.ledger.read_rows("failures.jsonl")] == ["d3/", "d7/"]
