"""Blocks whose loss only closing tells: no receipt says that they were copied."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import convert

from fanout.adapters.posix import target
from fanout.adapters.posix.shared_descriptor import SharedDescriptor
from fanout.copying.copy_shard import copy_shard
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.errors import Transient
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import World
from tests.support.mounts import world_of

REQUEST = {
    "source": "efs:///in",
    "destination": "efs:///out",
    "limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1},
}


def parted(tmp_path: Path) -> World:
    """A run up to CopyShards whose only file is copied in blocks, by processes that share mounts."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big").write_bytes(os.urandom(3 * tuning.BLOCK_BYTES + 7))
    world = world_of(tmp_path)
    world.forks = True
    world.list_all(world.plan(REQUEST))
    partition_shards(world.context())
    return world


def copy_all(world: World) -> None:
    for row in world.ledger.read_json("shards.json"):
        copy_shard(convert(row["shard"], Shard), world.context())


def losing(number: int) -> Callable[[SharedDescriptor], None]:
    close = SharedDescriptor.close

    def lose(self: SharedDescriptor) -> None:
        close(self)
        raise OSError(number, os.strerror(number))

    return lose


def test_a_full_file_system_fails_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = parted(tmp_path)
    monkeypatch.setattr(SharedDescriptor, "close", losing(errno.ENOSPC))
    copy_all(world)
    monkeypatch.undo()
    finish_tree(world.context())
    assert world.end("copied")["status"] == "FAILED_WITH_ITEMS"
    assert list((tmp_path / "out").iterdir()) == []


def test_what_may_pass_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = parted(tmp_path)
    monkeypatch.setattr(SharedDescriptor, "close", losing(errno.EIO))
    with pytest.raises(Transient, match="EIO"):
        copy_all(world)
    monkeypatch.undo()
    copy_all(world)
    finish_tree(world.context())
    assert world.end("copied")["status"] == "SUCCEEDED"
    assert (tmp_path / "out/big").read_bytes() == (tmp_path / "in/big").read_bytes()


def test_what_one_write_tells_may_be_the_loss_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = parted(tmp_path)
    write_all, lost, told = target.write_all, list[int](), list[int]()

    def lose(descriptor: int, data: bytes, offset: int) -> int:
        block = offset // tuning.BLOCK_BYTES
        if not lost:  # taken by the client, and never sent
            lost.append(block)
            return offset + len(data)
        if block not in lost and not told:  # the kernel tells it here, once
            told.append(block)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return write_all(descriptor, data, offset)

    monkeypatch.setattr(target, "write_all", lose)
    with pytest.raises(Transient, match="EIO"):
        copy_all(world)
    monkeypatch.undo()
    copy_all(world)
    finish_tree(world.context())
    assert (lost != told, world.end("copied")["status"]) == (True, "SUCCEEDED")
    assert (tmp_path / "out/big").read_bytes() == (tmp_path / "in/big").read_bytes()
