"""Between two mounts, ``compare: checksum``: what the destination holds already is neither staged nor written."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.errors import AccessDenied, FanoutError
from fanout.staging import digest_destination as module
from fanout.staging.digest_destination import digest_destination
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from fanout.verifying.source_checksums import read_checksums, write_checksums
from fanout.verifying.verifier import Verifier
from tests.support.two_mounts import TwoMounts

CHECKSUM: Json = {"compare": "checksum", "limits": {"shard_seconds": 0.1}}
OLD_NS = 1_600_000_000_000_000_000


def put(path: Path, data: bytes, mtime_ns: int = OLD_NS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(mtime_ns, mtime_ns))


@pytest.fixture
def mounts(tmp_path: Path) -> TwoMounts:
    """Names say what the destination holds of a file."""
    made = TwoMounts(tmp_path)
    here, there = made.source_root, made.root
    put(here / "d/same", b"same bytes")
    put(there / "d/same", b"same bytes", OLD_NS + 5)
    put(here / "d/other", b"ours")
    put(there / "d/other", b"them")
    put(here / "longer", b"ours" * 9)
    put(there / "longer", b"ours")
    put(here / "new", b"new")
    put(here / "empty", b"")
    put(there / "empty", b"", OLD_NS + 5)
    put(here / "large", b"l" * (2 * tuning.BLOCK_BYTES + 3))
    put(there / "large", b"l" * (2 * tuning.BLOCK_BYTES + 3), OLD_NS + 5)
    for root, target in ((here, "d/same"), (there, "d/same")):
        (root / "link").symlink_to(target)
    (here / "turned").symlink_to("d/same")
    (there / "turned").symlink_to("d/none")
    put(here / "was-link", b"d/same")
    (there / "was-link").symlink_to("d/same")
    return made


def inodes(mounts: TwoMounts) -> dict[str, int]:
    return {path.name: path.lstat().st_ino for path in mounts.root.rglob("*") if not path.is_dir() or path.is_symlink()}


UNCHANGED = {"same", "empty", "large", "link"}


def test_only_what_holds_other_bytes_is_staged_and_written(mounts: TwoMounts) -> None:
    before = inodes(mounts)
    summary = mounts.run(CHECKSUM)
    assert summary["status"] == "SUCCEEDED", mounts.failures()
    after = inodes(mounts)
    assert {name for name, inode in before.items() if after[name] == inode} == UNCHANGED
    assert summary["totals"]["unchanged"]["entries"] == len(UNCHANGED)
    assert (mounts.root / "d/other").read_bytes() == b"ours"
    assert (mounts.root / "turned").readlink() == Path("d/same")
    assert (mounts.root / "was-link").read_bytes() == b"d/same" and not (mounts.root / "was-link").is_symlink()


def test_a_second_run_writes_nothing(mounts: TwoMounts) -> None:
    assert mounts.run(CHECKSUM)["status"] == "SUCCEEDED"
    before = inodes(mounts)
    second = mounts.next_run("run-2")
    summary = second.run(CHECKSUM)
    assert summary["totals"]["copied"]["bytes"] == 0
    assert inodes(second) == before


def test_a_file_that_changes_at_the_destination_after_the_look_is_unchanged_as_it_was(mounts: TwoMounts) -> None:
    """As within one mount: the run says what it saw; the next one sees the change."""
    mounts.list_all(CHECKSUM)
    for shard in mounts.shards():
        while not digest_destination(shard, mounts.destination())["done"]:
            pass
    put(mounts.root / "d/same", b"THEIR BYTE")
    put(mounts.root / "d/other", b"ours")
    for shard in mounts.shards():
        pack_shard(shard, mounts.source())
        assert unpack_shard(shard, mounts.destination())["done"]
    assert (mounts.root / "d/same").read_bytes() == b"THEIR BYTE"
    second = mounts.next_run("run-2")
    second.run(CHECKSUM)
    assert (mounts.root / "d/same").read_bytes() == b"same bytes"


def test_a_file_that_cannot_be_read_there_is_copied(mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Verifier.read_checksum

    def refuse(self: object, tree: object, entry: object) -> int:
        if getattr(entry, "path", "") == "d/same" and getattr(tree, "_made", False):
            raise AccessDenied("reading", "d/same", "give the right")
        return read(self, tree, entry)  # type: ignore[arg-type]

    monkeypatch.setattr(Verifier, "read_checksum", refuse)
    before = inodes(mounts)
    assert mounts.run(CHECKSUM)["status"] == "SUCCEEDED"
    assert inodes(mounts)["same"] != before["same"]


def test_a_source_that_changes_after_it_was_listed_is_no_success(mounts: TwoMounts) -> None:
    mounts.list_all(CHECKSUM)
    put(mounts.source_root / "d/same", b"SAME BYTES")
    mounts.copy_all()
    summary = mounts.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert mounts.failures() == {"d/same": "source changed"}


def test_tails_twice_and_kills_leave_the_same(mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        put(mounts.source_root / f"many/f{number}", bytes([number]) * 50)
        put(mounts.root / f"many/f{number}", bytes([number - number % 3]) * 50, OLD_NS + 9)
    mounts.list_all(CHECKSUM)
    chance, looks = random.Random(3), 0
    kept = write_checksums

    def dies(*arguments: object) -> None:
        nonlocal looks
        looks += 1
        if chance.random() < 0.3:
            raise FanoutError("killed before it wrote")
        kept(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "write_checksums", dies)
    for shard in mounts.shards():
        done = False
        while not done:
            try:
                done = digest_destination(shard, mounts.destination())["done"]
            except FanoutError:
                continue
        assert digest_destination(shard, mounts.destination())["done"]
        assert len(read_checksums(keys.destination_id(shard.id), mounts.world.ledger)) == shard.entries
    before = inodes(mounts)
    mounts.copy_all()
    assert finish_tree(mounts.destination())["done"]
    assert mounts.end()["status"] == "SUCCEEDED"
    after = inodes(mounts)
    assert {int(name[1:]) for name in before if name[1:].isdigit() and before[name] == after[name]} == set(
        range(0, 40, 3)
    )
    assert looks > len(mounts.shards())


def test_names_of_one_file_stay_names_of_one_file(mounts: TwoMounts) -> None:
    (mounts.source_root / "d/name").hardlink_to(mounts.source_root / "d/same")
    assert mounts.run(CHECKSUM)["status"] == "SUCCEEDED"
    assert (mounts.root / "d/name").samefile(mounts.root / "d/same")


def test_a_resumed_run_reads_the_destination_again(mounts: TwoMounts) -> None:
    mounts.list_all(CHECKSUM)
    second = mounts.next_run("run-2")
    summary = second.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED", second.failures()
    assert summary["totals"]["unchanged"]["entries"] == len(UNCHANGED)
