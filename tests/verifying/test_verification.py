"""Verification: a lie about what was written is found, and named, whatever it is."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.facts.tuning import BLOCK_BYTES
from fanout.finishing.finish_tree import finish_tree
from fanout.ledger.rows import indexed_outcome_from_row, outcome_row
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.partition.partition_shards import partition_shards
from fanout.shards.found_sums import BothDigests, both_digests, entry_digest, with_digests
from tests.support.flow import REQUEST, ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemorySource

COPIED = {**REQUEST, "verify": "copied"}
ALL = {**REQUEST, "verify": "all"}
ONLY = {**REQUEST, "mode": "verify"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(destination=PosixTree(tmp_path, "", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    for number in range(12):
        world.source.put(f"d{number % 3}/f{number}", Kind.FILE, b"%d" % number * 50)
    world.source.put("e/", Kind.DIRECTORY)
    return world


def copied(world: World, request: Json) -> None:
    world.list_all(world.plan(request))
    partition_shards(world.context())
    world.copy_all()
    finish_tree(world.context())


def failures(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


@pytest.mark.parametrize(("request_", "compared"), [(COPIED, 13), (ALL, 13)])
def test_a_copy_that_is_whole_is_verified(world: World, request_: Json, compared: int) -> None:
    summary = world.run(request_)
    assert summary["status"] == "SUCCEEDED"
    verification = summary["verification"]
    assert verification["compared"]["entries"] == compared
    assert verification["differences"] == 0
    assert verification["source_digest"] == verification["destination_digest"] != "0" * 64


@pytest.mark.parametrize("request_", [COPIED, ALL])
def test_what_was_damaged_after_the_copy_is_found(world: World, tmp_path: Path, request_: Json) -> None:
    copied(world, request_)
    body = (tmp_path / "d1/f1").read_bytes()
    (tmp_path / "d1/f1").write_bytes(body[:-1] + b"!")
    (tmp_path / "d2/f2").unlink()
    (tmp_path / "d0/f0").write_bytes(b"short")
    summary = world.end(request_["verify"])
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert failures(world) == {
        "d0/f0": "size or kind differs",
        "d1/f1": "checksum differs",
        "d2/f2": "missing at the destination",
    }
    verification = summary["verification"]
    assert verification["source_digest"] != verification["destination_digest"]
    assert set(verification["differing_directories"]) <= {"d0", "d1", "d2"}
    assert "d1" in verification["differing_directories"]


class Mixed(MemoryTree):
    """A tree that gives another file's bytes where it is told to; with ``keeps`` it has checksums of its own."""

    def __init__(self, changes: Iterator[int], *, keeps: bool) -> None:
        super().__init__(changes, keeps_checksums=keeps)
        self.mixed, self.opened = False, 0

    def open(self, entry: Entry) -> MemorySource:
        self.opened += 1
        other = next(
            (name for name in self.contents() if self.mixed and name[-4:] == "swap" and name != entry.path), ""
        )
        return MemorySource(self.contents()[other]) if other else super().open(entry)


SPLIT = {"limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}}


@pytest.mark.parametrize("keeps", [True, False], ids=["the store keeps checksums", "the source is read again"])
@pytest.mark.parametrize("size", [50, 2 * BLOCK_BYTES + 5], ids=["small", "big"])
def test_what_was_received_of_another_object_does_not_verify(tmp_path: Path, keeps: bool, size: int) -> None:
    changes = itertools.count(1)
    source = Mixed(changes, keeps=keeps)
    source.put("d/one-swap", Kind.FILE, os.urandom(size))
    source.put("d/two-swap", Kind.FILE, os.urandom(size))
    world = World(changes, source=source, destination=PosixTree(tmp_path, "", "run-1", "n"))
    source.mixed = True
    copied(world, COPIED | SPLIT)
    source.mixed, source.opened = False, 0
    assert (tmp_path / "d/one-swap").read_bytes() == source.contents()["d/two-swap"].data
    summary = world.end("copied")
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert failures(world) == {"d/one-swap": "checksum differs", "d/two-swap": "checksum differs"}
    assert bool(source.opened) is not keeps


def test_what_changed_at_the_source_after_the_copy_is_not_verified(world: World) -> None:
    assert isinstance(world.source, MemoryTree)
    copied(world, COPIED)
    world.source.put("d1/f1", Kind.FILE, b"newer")
    world.source.remove("d2/f2")
    world.end("copied")
    assert failures(world) == {"d1/f1": "source changed", "d2/f2": "source vanished"}


def test_comparing_both_trees_finds_what_does_not_belong(world: World, tmp_path: Path) -> None:
    copied(world, ALL)
    (tmp_path / "d0/extra").write_text("x")
    summary = world.end("all")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert failures(world) == {"d0/extra": "not at the source"}
    assert summary["balanced"]


def test_only_comparing_writes_nothing_and_its_books_balance(world: World, tmp_path: Path) -> None:
    summary = world.run(ONLY)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert set(failures(world).values()) == {"missing at the destination"}
    assert summary["totals"]["failed"]["entries"] == summary["totals"]["listed"]["entries"] == 13
    assert list(tmp_path.iterdir()) == []
    copied(world.next_run("run-2"), REQUEST)
    third = world.next_run("run-3")
    summary = third.run(ONLY)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["unchanged"]["entries"] == 13
    assert summary["verification"]["source_digest"] == summary["verification"]["destination_digest"]


def test_a_shard_that_was_not_verified_is_a_difference(world: World) -> None:
    copied(world, COPIED)
    summary = world.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert set(failures(world).values()) == {"not verified"}


def test_a_verification_without_time_goes_on_and_compares_each_entry_once(world: World) -> None:
    copied(world, COPIED)
    world.clock = ManualClock(step=0.05)
    world.remaining_seconds = 1.0
    world.verify_all()
    world.clock.step = 0.0
    summary = world.end()
    assert (summary["status"], summary["verification"]["compared"]["entries"]) == ("SUCCEEDED", 13)


def test_a_damaged_block_of_a_big_file_is_found(world: World, tmp_path: Path) -> None:
    assert isinstance(world.source, MemoryTree)
    world.source.put("big", Kind.FILE, os.urandom(3 * BLOCK_BYTES + 5))
    request = {**COPIED, "limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}}
    copied(world, request)
    whole_copy = world.end("copied")
    assert whole_copy["status"] == "SUCCEEDED"
    assert whole_copy["verification"]["compared"] == whole_copy["totals"]["copied"]
    again = world.next_run("run-2")
    request = {**request, "compare": "always"}
    world.source.put("big", Kind.FILE, os.urandom(3 * BLOCK_BYTES + 5))
    copied(again, request)
    with (tmp_path / "big").open("r+b") as file:
        file.seek(2 * BLOCK_BYTES)
        file.write(b"damage")
    summary = again.end("copied")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert failures(again) == {"big": "checksum differs"}


FOUND = st.lists(st.tuples(st.sampled_from(["a/x", "a/y", "b/z"]), st.integers(0, 9), st.booleans()), max_size=12)


@given(FOUND, st.randoms())
def test_a_digest_does_not_depend_on_the_order_nor_on_who_adds_up(
    found: list[tuple[str, int, bool]], chance: random.Random
) -> None:
    outcomes = []
    for path, size, equal in found:
        outcome = Outcome.done(Entry(path, Kind.FILE, size), Result.UNCHANGED, "c")
        digest = entry_digest(path, "file", size, "c")
        outcomes.append(with_digests(outcome, digest, digest if equal else 7))
    assert [one.digests is None for one in outcomes] == [equal for _, _, equal in found]
    whole = both_digests(outcomes)
    assert (whole.source == whole.destination) is all(equal for _, _, equal in found)
    chance.shuffle(outcomes)
    parts = [both_digests(outcomes[::2]), both_digests(outcomes[1::2])]
    assert sum(parts, BothDigests()) == whole
    assert both_digests(indexed_outcome_from_row(outcome_row(one, 0))[1] for one in outcomes) == whole
