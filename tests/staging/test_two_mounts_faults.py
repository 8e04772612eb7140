"""Between two mounts, with workers that are killed and disks that fail: what arrives is whole, the books balance."""

from __future__ import annotations

import errno
import os
import random
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.directory_store import DirectoryStore
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.errors import Transient
from fanout.model.shard import Shard
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from fanout.work.context import Context
from tests.runs.test_file_system_faults import ERRORS, OPERATIONS, RECOVERS, fail_once
from tests.runs.test_kills import RealClock, filled
from tests.runs.test_there_and_back import DIRECTORIES, make
from tests.support.long import LONG
from tests.support.memory_store import MemoryStore
from tests.support.trees import described
from tests.support.two_mounts import TwoMounts

KILLS = 150 if LONG else 40


def attempt(mounts: TwoMounts, shard: Shard, step: Callable[[Shard, Context], Any], nonce: str) -> int:
    """A worker in a process of its own; its process id. It ends with 0 where the shard is done."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        mounts.world.source = mounts.source_tree(nonce)
        mounts.world.destination = mounts.destination_tree(nonce)
        mounts.world.nonces = iter([nonce])
        context = mounts.source() if step is pack_shard else mounts.destination()
        status = 0 if step(shard, context)["done"] else 1
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


def test_kills_of_either_side_at_random_moments_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "CHECKPOINT_SECONDS", 0.02)
    monkeypatch.setattr(tuning, "PACK_ENTRIES", 20)
    mounts = TwoMounts(tmp_path, store=DirectoryStore(tmp_path / "ledger"), clock=RealClock())
    mounts.world.clock.time = time.time()
    contents = filled(mounts.source_root)
    mounts.list_all({"verify": "copied", "limits": {"shard_seconds": 0.1, "split_bytes": tuning.BLOCK_BYTES}})
    shards = mounts.shards()
    assert len(shards) > 5
    chance = random.Random(20261121)
    kills = {pack_shard: 0, unpack_shard: 0}
    attempts = 0
    finished: set[str] = set()
    while min(kills.values()) < KILLS // 2 or len(finished) < len(shards):
        shard, step = chance.choice(shards), chance.choice([pack_shard, unpack_shard])
        attempts += 1
        pid = attempt(mounts, shard, step, f"a{attempts}")
        if kills[step] < KILLS // 2:
            time.sleep(chance.uniform(0.0, 0.04))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        kills[step] += os.WIFSIGNALED(status)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            finished.add(shard.id)
        assert attempts < 40 * KILLS
    finish_tree(mounts.destination())
    assert mounts.staged() == []
    assert mounts.end("copied")["status"] == "SUCCEEDED", mounts.failures()
    found = {str(path.relative_to(mounts.root)): path.read_bytes() for path in mounts.root.rglob("*") if path.is_file()}
    assert found == contents
    assert not list(mounts.root.glob(".fanout*"))


@pytest.mark.parametrize("number", list(ERRORS), ids=lambda number: errno.errorcode[number])
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_an_error_at_the_destination_costs_the_entry_it_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, number: int
) -> None:
    mounts = TwoMounts(tmp_path)
    paths = [f"d{place}/f{place}" for place in range(4)]
    for path in paths:
        (mounts.source_root / path).parent.mkdir(parents=True, exist_ok=True)
        (mounts.source_root / path).write_text(f"content of {path}")
    mounts.list_all()
    (shard,) = mounts.shards()
    pack_shard(shard, mounts.source())
    with monkeypatch.context() as patch:
        fail_once(patch, operation, number)
        unpack_shard(shard, mounts.destination())
    mounts.copy_all()
    finish_tree(mounts.destination())
    summary = mounts.end()
    recovers = (operation, number) in RECOVERS
    assert summary["totals"]["failed"]["entries"] == len(mounts.failures()) >= (0 if recovers else 1)
    assert set(mounts.failures().values()) == (set() if recovers else {ERRORS[number]})
    for path in set(paths) - set(mounts.failures()):
        assert (mounts.root / path).read_text() == f"content of {path}"
    assert not any((mounts.root / path).is_file() for path in mounts.failures())
    assert mounts.staged() == [] and not list(mounts.root.glob(".fanout*"))


class Failing(MemoryStore):
    """A work store of which every so many writes to one place fail."""

    def __init__(self, place: str, every: int) -> None:
        super().__init__()
        self.place, self.every, self.calls = place, every, 0

    def put(self, key: str, data: bytes) -> None:
        if self.place in key:
            self.calls += 1
            if self.calls % self.every == 0:
                raise Transient("connection reset")
        super().put(key, data)


@pytest.mark.parametrize("place", ["/packs/", "/index/"])
def test_entries_of_a_pack_that_was_not_written_are_staged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(tuning, "PACK_ENTRIES", 3)
    mounts = TwoMounts(tmp_path, store=Failing(place, every=3))
    for number in range(40):
        (mounts.source_root / f"f{number}").write_bytes(b"x" * number)
    mounts.list_all()
    for shard in mounts.shards():
        for _ in range(10):
            try:
                mounts.copy_shard(shard)
            except Transient:
                continue
            break
    finish_tree(mounts.destination())
    summary = mounts.end()
    failed = mounts.failures()
    assert set(failed.values()) <= {"failed after retries"}
    assert summary["totals"]["copied"]["entries"] == 40 - len(failed)
    for number in range(40):
        path = mounts.root / f"f{number}"
        assert path.name in failed or path.read_bytes() == b"x" * number


@settings(max_examples=40, deadline=None)
@given(DIRECTORIES, st.integers(1, 6), st.sampled_from([1, 40, 10_000]))
def test_random_trees_arrive_equal_whatever_the_packs(content: dict[str, Any], entries: int, pack_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as base, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "PACK_ENTRIES", entries)
        patch.setattr(tuning, "PACK_BYTES", pack_bytes)
        patch.setattr(tuning, "PACKS_HELD", 1)
        mounts = TwoMounts(Path(base))
        mounts.source_root.rmdir()
        make(mounts.source_root, content)
        summary = mounts.run({"verify": "all"})
        assert summary["status"] == "SUCCEEDED", mounts.failures()
        assert summary["totals"]["listed"] == summary["totals"]["copied"]
        assert described(mounts.root) == described(mounts.source_root)


class Slow(MemoryStore):
    """A work store whose packs take their time; it counts how many are on their way."""

    def __init__(self) -> None:
        super().__init__()
        self.lock, self.sending, self.most, self.packs = threading.Lock(), 0, 0, 0

    def put(self, key: str, data: bytes) -> None:
        if "/packs/" not in key:
            super().put(key, data)
            return
        with self.lock:
            self.sending, self.packs = self.sending + 1, self.packs + 1
            self.most = max(self.most, self.sending)
        time.sleep(0.005)
        super().put(key, data)
        with self.lock:
            self.sending -= 1


def test_few_packs_are_on_their_way_at_once_however_slow_the_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "PACK_BYTES", 2_000)
    mounts = TwoMounts(tmp_path, store=Slow())
    for number in range(300):
        (mounts.source_root / f"f{number}").write_bytes(b"x" * 1_000)
    summary = mounts.run()
    assert isinstance(mounts.store, Slow)
    assert summary["totals"]["copied"]["entries"] == 300
    assert (mounts.store.packs, mounts.store.most <= tuning.PACKS_IN_FLIGHT) == (150, True)


def three_files(tmp_path: Path) -> tuple[TwoMounts, Shard, dict[str, str]]:
    mounts = TwoMounts(tmp_path)
    contents = {f"f{number}": f"content {number}" for number in range(3)}
    mounts.source_root.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (mounts.source_root / name).write_text(text)
    os.symlink("f0", mounts.source_root / "link")
    mounts.list_all()
    (shard,) = mounts.shards()
    return mounts, shard, contents


def break_packs(mounts: TwoMounts, damage: Callable[[bytes], bytes | None]) -> None:
    store = mounts.world.store
    assert isinstance(store, MemoryStore)
    for key in [key for key in store._objects if "/packs/" in key]:
        changed = damage(store._objects.pop(key))
        if changed is not None:
            store._objects[key] = changed


PACK_DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "truncated": lambda data: data[:-1],
    "empty": lambda _: b"",
    "gone": lambda _: None,
    "flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
}


@pytest.mark.parametrize("damage", PACK_DAMAGES)
def test_a_broken_pack_is_staged_again(tmp_path: Path, damage: str) -> None:
    mounts, shard, contents = three_files(tmp_path)
    pack_shard(shard, mounts.source())
    break_packs(mounts, PACK_DAMAGES[damage])
    answer = unpack_shard(shard, mounts.destination())
    assert (answer["done"], answer["next"]) == (False, "pack")
    mounts.copy_all()
    finish_tree(mounts.destination())
    assert mounts.end()["status"] == "SUCCEEDED", mounts.failures()
    assert {name: (mounts.root / name).read_text() for name in contents} == contents
    assert os.readlink(mounts.root / "link") == "f0"
    assert mounts.staged() == []


@pytest.mark.parametrize("damage", PACK_DAMAGES)
def test_a_pack_that_is_broken_each_time_fails_as_broken_and_not_as_a_changed_source(
    tmp_path: Path, damage: str
) -> None:
    mounts, shard, _ = three_files(tmp_path)
    done = []
    for _ in range(3):
        pack_shard(shard, mounts.source())
        break_packs(mounts, PACK_DAMAGES[damage])
        done.append(unpack_shard(shard, mounts.destination())["done"])
    assert done == [False, False, True]
    finish_tree(mounts.destination())
    assert mounts.end()["status"] == "FAILED_WITH_ITEMS"
    assert set(mounts.failures().values()) == {"staged data is broken"}
    assert mounts.staged() == []
