"""The promises of a run, shown on the flow over adapters in memory and in a directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import AccessDenied, LedgerBroken, Transient
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.model.shard import Shard
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

HOSTILE = ["../x", "/abs", "a//b", "a/./b", "n" * 256, "z\0y", "f/below"]


def filled(count: int = 40) -> World:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for number in range(count):
        world.source.put(f"d{number % 3}/f{number}", Kind.FILE, b"x" * number)
    return world


def contents(tree: object) -> dict[str, bytes]:
    assert isinstance(tree, MemoryTree)
    return {path: stored.data for path, stored in tree.contents().items()}


def test_a_run_copies_everything_and_its_books_balance() -> None:
    world = filled()
    summary = world.run()
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["listed"] == summary["totals"]["copied"] == {"entries": 40, "bytes": 780}
    assert contents(world.destination) == contents(world.source)


def test_a_second_run_finds_everything_unchanged_and_a_third_what_changed() -> None:
    world = filled()
    world.run()
    second = world.next_run("run-2").run()
    assert second["totals"]["unchanged"]["entries"] == 40
    assert second["shards"]["count"] == 0
    assert isinstance(world.source, MemoryTree)
    world.source.put("d0/f0", Kind.FILE, b"new")
    third = world.next_run("run-3").run()
    assert (third["totals"]["copied"]["entries"], third["totals"]["unchanged"]["entries"]) == (1, 39)
    assert contents(world.destination) == contents(world.source)


def test_hostile_keys_are_rejected_with_a_reason_and_the_run_does_not_end_green(tmp_path: Path) -> None:
    world = World(destination=PosixTree(tmp_path, "root", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    for path in [*HOSTILE, "f", "good"]:
        world.source.put(path, Kind.FILE, b"1")
    summary = world.run()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["rejected"]["entries"] == len(HOSTILE)
    rows = list(world.ledger.read_rows("failures.jsonl"))
    assert sorted(row["path"] for row in rows) == sorted(HOSTILE)
    assert all(row["reason"] and row["remedy"] for row in rows)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["f", "good", "root"]


@settings(deadline=None, max_examples=30)
@given(st.sets(st.text(alphabet="ab/.\0é\udcff", min_size=1, max_size=6), max_size=15))
def test_books_balance_whatever_the_names(names: set[str]) -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for name in names:
        world.source.put(name, Kind.FILE, name.encode("utf-8", "surrogateescape"))
    summary = world.run()
    assert summary["balanced"]
    assert summary["totals"]["listed"]["entries"] == len(names)
    copied = {path: data for path, data in contents(world.source).items() if path in contents(world.destination)}
    assert copied == contents(world.destination)


def test_a_listing_without_time_goes_on_in_more_rounds_and_loses_nothing() -> None:
    world = filled(600)
    world.clock = ManualClock(step=5.0)
    world.remaining_seconds = 10.0
    last = world.list_all(world.plan())
    assert last["round"] > 2
    world.clock.step = 0.0
    world.copy_all()
    mapped = finish_tree(world.context())["round"]
    assert finish_tree(world.context(), mapped=mapped)["done"]
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"
    assert contents(world.destination) == contents(world.source)


def shard_of(world: World) -> object:
    from fanout.partition.partition_shards import partition_shards

    world.list_all(world.plan())
    partition_shards(world.context())
    rows = world.ledger.read_json("shards.json")
    assert len(rows) == 1
    return convert(rows[0]["shard"], Shard)


def test_a_shard_stops_before_its_deadline_and_hands_back_its_tail() -> None:
    world = filled()
    shard = shard_of(world)
    world.clock.step = 0.05
    world.remaining_seconds = 3.0
    first = copy_shard(shard, world.context())  # type: ignore[arg-type]
    assert not first["done"]
    assert 0 < first["cursor"] < 40
    world.copy_all()
    world.clock.step = 0.0
    finish_tree(world.context())
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"
    assert contents(world.destination) == contents(world.source)


def test_a_shard_that_is_delivered_twice_counts_once() -> None:
    world = filled()
    shard = shard_of(world)
    twin = replace(world, nonces=iter(["t1", "t2"]))

    class Late(type(world.store)):  # type: ignore[misc]
        """The twin looked before the first attempt wrote."""

        def list(self, prefix: str) -> object:
            return iter(()) if prefix.endswith(f"{shard.id}/") else super().list(prefix)  # type: ignore[attr-defined]

    late = Late()
    late._objects = world.store._objects  # type: ignore[attr-defined]
    twin.store = late
    assert copy_shard(shard, world.context())["done"]  # type: ignore[arg-type]
    assert copy_shard(shard, twin.context())["done"]  # type: ignore[arg-type]
    finish_tree(world.context())
    result = summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert result["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["entries"] == 40


def test_a_shard_that_fails_for_good_is_a_failure_of_its_entries() -> None:
    world = filled()
    shard = shard_of(world)
    error = {"Error": "Transient", "Cause": '{"errorMessage": "no answer", "errorType": "Transient"}'}
    record_shard_failure(shard, error, world.context())  # type: ignore[arg-type]
    result = summarise_transfer(None, world.context())
    assert result["status"] == "FAILED_WITH_ITEMS"
    rows = list(world.ledger.read_rows("failures.jsonl"))
    assert len(rows) == 40
    assert {row["message"] for row in rows} == {"Transient: no answer"}


def test_entries_without_an_outcome_are_failures_not_forgotten() -> None:
    world = filled()
    shard_of(world)
    result = summarise_transfer({"Error": "States.Timeout", "Cause": ""}, world.context())
    summary = world.ledger.read_json("summary.json")
    assert (result["status"], result["error"], result["cause"]) == (
        "FAILED",
        "Infrastructure",
        "Infrastructure: States.Timeout",
    )
    assert summary["totals"]["failed"]["entries"] == 40
    assert summary["balanced"]


def test_a_shard_list_that_lost_a_shard_is_noticed() -> None:
    world = filled()
    shard_of(world)
    world.ledger.write_json("shards.json", [])
    with pytest.raises(LedgerBroken, match="hold 0 of 40 entries to copy"):
        summarise_transfer(None, world.context())


def test_a_source_that_changed_since_the_listing_is_a_failed_entry() -> None:
    world = filled()
    world.list_all(world.plan())
    assert isinstance(world.source, MemoryTree)
    world.source.put("d0/f0", Kind.FILE, b"changed")
    world.source.remove("d1/f1")
    world.copy_all()
    finish_tree(world.context())
    assert summarise_transfer(None, world.context())["status"] == "FAILED_WITH_ITEMS"
    reasons = {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
    assert reasons == {"d0/f0": "source changed", "d1/f1": "source vanished"}
    assert "d0/f0" not in contents(world.destination)


def test_a_shard_of_which_nothing_could_be_copied_is_tried_again() -> None:
    class Down(MemoryTree):
        def create(self, entry: Entry, attributes: Attributes) -> NoReturn:
            raise Transient("no answer")

    world = filled()
    world.destination = Down()
    with pytest.raises(Transient, match="none of 40 entries could be copied, and 40 failed"):
        copy_shard(shard_of(world), world.context())  # type: ignore[arg-type]


def test_an_entry_that_a_whole_function_can_not_copy_fails_instead_of_going_round_for_ever() -> None:
    world = World(clock=ManualClock())
    assert isinstance(world.source, MemoryTree)
    world.source.put("huge", Kind.FILE, bytes(9 * 1024 * 1024))
    shard = shard_of(world)
    world.clock.step = 0.8
    world.remaining_seconds = 5.6
    assert copy_shard(shard, world.context())["done"]  # type: ignore[arg-type]
    summarise_transfer(None, world.context())
    assert [row["reason"] for row in world.ledger.read_rows("failures.jsonl")] == ["too large for one function's time"]


def test_directories_get_their_times_when_their_content_is_there(tmp_path: Path) -> None:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/", Kind.DIRECTORY, b"", Attributes(mode=0o040750, mtime_ns=10**18))
    world.source.put("d/e/", Kind.DIRECTORY, b"", Attributes(mode=0o040700, mtime_ns=10**18 + 5))
    world.source.put("d/e/f", Kind.FILE, b"x")
    assert world.run()["status"] == "SUCCEEDED"
    assert (tmp_path / "d").stat().st_mtime_ns == 10**18
    assert (tmp_path / "d/e").stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.glob(".fanout*"))


def test_a_listing_that_fails_names_its_error_and_is_never_an_empty_source() -> None:
    class Refusing(MemoryTree):
        def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
            yield Entry("a", Kind.FILE, 1)
            raise AccessDenied("ListObjectsV2", "s3://a-bucket/", "grant s3:ListBucket")

    world = World(source=Refusing())
    with pytest.raises(AccessDenied):
        world.list_all(world.plan())
    caught = {"Error": "States.ExceedToleratedFailureThreshold", "Cause": ""}
    result = summarise_transfer(caught, world.context())
    assert (result["status"], result["error"]) == ("FAILED", "AccessDenied")
    assert "grant s3:ListBucket" in result["cause"]
