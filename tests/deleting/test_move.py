"""mode: move: at the source only that goes whose copy is proven, and only if it is as it was proven."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.request import plan
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.mounts import world_of
from tests.support.moves import MOVE, compared, copied, filled, held, names, reasons, to_delete


def test_a_tree_moves_and_its_root_stays(tmp_path: Path) -> None:
    contents = filled(tmp_path)
    (tmp_path / "out/old").mkdir(parents=True)
    (tmp_path / "out/old/extra").write_text("stays")
    world = world_of(tmp_path)
    world.clock.step = 0.001
    summary = world.run(MOVE)
    assert summary["status"] == "SUCCEEDED", summary
    assert names(tmp_path / "in") == set()
    assert held(tmp_path / "out") == contents | {"old/extra": b"stays"}
    assert (tmp_path / "out/d1/name").samefile(tmp_path / "out/d0/e0/f0")
    assert os.readlink(tmp_path / "out/d2/link") == "nowhere"
    assert summary["totals"]["deleted"]["entries"] == summary["totals"]["listed"]["entries"] == 25
    assert list(summary["seconds"]) == ["plan", "list", "partition", "copy", "finish", "verify", "delete", "summarise"]
    assert summary["verification"]["differences"] == 0
    again = world_of(tmp_path, "run-2").run(MOVE)
    assert (again["status"], again["totals"]["listed"]["entries"]) == ("SUCCEEDED", 0)


def test_what_was_there_already_moves_too(tmp_path: Path) -> None:
    contents = filled(tmp_path)
    world_of(tmp_path).run({**MOVE, "mode": "copy"})
    summary = world_of(tmp_path, "run-2").run({**MOVE, "compare": "checksum"})
    assert summary["totals"]["deleted"]["entries"] == 25
    assert (held(tmp_path / "in"), held(tmp_path / "out")) == ({}, contents)


@pytest.mark.parametrize("cut_after", [1, 3])
def test_cut_listings_and_small_shards_move_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_after: int
) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", cut_after)
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 2)
    contents = filled(tmp_path)
    summary = world_of(tmp_path).run({**MOVE, "limits": {"shard_seconds": 0.1}})
    assert summary["status"] == "SUCCEEDED", summary
    assert (names(tmp_path / "in"), held(tmp_path / "out")) == (set(), contents)


def test_a_file_that_is_compared_in_blocks_moves(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "in/big").write_bytes(os.urandom(3 * tuning.BLOCK_BYTES + 5))
    summary = world_of(tmp_path).run({**MOVE, "limits": {"split_bytes": tuning.BLOCK_BYTES}})
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["deleted"]["entries"] == 26
    assert not (tmp_path / "in/big").exists()


def damage_copy(mount: Path) -> None:
    (mount / "out/d0/e0/f0").write_bytes(b"x")


def mode_of_copy(mount: Path) -> None:
    (mount / "out/d0/e0/f0").chmod(0o600)


def no_copy(mount: Path) -> None:
    (mount / "out/d0/e0/f6").unlink()


@pytest.mark.parametrize(
    ("happens", "stays", "reason"),
    [
        (damage_copy, {"d0/e0/f0", "d1/name"}, "checksum differs"),
        (mode_of_copy, {"d0/e0/f0", "d1/name"}, "mode differs"),
        (no_copy, {"d0/e0/f6"}, "missing at the destination"),
    ],
)
def test_what_is_not_proven_stays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[Path], None],
    stays: set[str],
    reason: str,
) -> None:
    contents = filled(tmp_path)
    world = copied(tmp_path)
    monkeypatch.setattr(plan, "SECOND_NS", 10**30)  # as if all of the source were older than the run
    happens(tmp_path)
    summary = world.end("all")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert held(tmp_path / "in") == {path: contents[path] for path in stays}
    assert reasons(world) == dict.fromkeys(stays, reason)
    assert not list((tmp_path / "in").glob(".fanout*"))


def test_by_content_alone_attributes_are_no_matter(tmp_path: Path) -> None:
    filled(tmp_path)
    world = copied(tmp_path, {**MOVE, "verify": "content"})
    mode_of_copy(tmp_path)
    assert world.end("all")["status"] == "SUCCEEDED"
    assert held(tmp_path / "in") == {}


def test_all_names_of_a_file_that_nobody_touched_go(tmp_path: Path) -> None:
    filled(tmp_path)
    for number in range(40):
        os.link(tmp_path / "in/d0/e0/f0", tmp_path / f"in/d{number % 2}/n{number}")
    world = copied(tmp_path)
    inner = compared(world)
    inner.delete_all()
    summarise_transfer(None, world.context())
    assert held(tmp_path / "in") == {}
    assert reasons(world) == {}


@pytest.mark.parametrize(("shard_entries", "linked_names"), [(2, 50_000), (2, 4), (500, 4)])
def test_names_of_a_file_are_deleted_by_one_task_wherever_they_were_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_entries: int, linked_names: int
) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", shard_entries)
    monkeypatch.setattr(tuning, "LINKED_NAMES", linked_names)
    filled(tmp_path)
    for number in range(9):
        os.link(tmp_path / f"in/d0/e0/f{(number % 2) * 6}", tmp_path / f"in/d{number % 3}/n{number}")
    world = world_of(tmp_path)
    summary = world.run(MOVE)
    assert summary["status"] == "SUCCEEDED", reasons(world)
    assert names(tmp_path / "in") == set()
    inner = dataclasses.replace(world, prefix=world.ledger.verification().prefix)
    tasks = [{entry.inode for entry in inner.ledger.read_shard(one) if entry.inode} for one in to_delete(inner)]
    assert sum(map(len, tasks)) == len(set().union(*tasks)) == 2


def test_what_the_filters_leave_out_stays_with_its_directories(tmp_path: Path) -> None:
    filled(tmp_path)
    summary = world_of(tmp_path).run({**MOVE, "exclude": ["f6"]})
    assert summary["status"] == "SUCCEEDED"
    assert set(held(tmp_path / "in")) == {"d0/e0/f6"}
    assert "d0/e0/f6" not in held(tmp_path / "out")
