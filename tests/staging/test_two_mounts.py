"""From one mount to another: as between two directories of one, though no function sees both."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fanout.facts import tuning, units
from fanout.finishing.finish_tree import finish_tree
from fanout.listing import list_destination as listing
from fanout.model.errors import InvalidRequest, Transient
from fanout.request.parse import parse_request
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from tests.support.flow import ManualClock
from tests.support.trees import described
from tests.support.two_mounts import REQUEST, TwoMounts

OLD_NS = 1_600_000_000_123_456_789


def age(root: Path) -> None:
    """Nothing was changed within the margin of a comparison; and times have nanoseconds."""
    for directory, names, files in os.walk(root, topdown=False):
        for number, name in enumerate(sorted(names + files)):
            moment = OLD_NS + number
            os.utime(Path(directory) / name, ns=(moment, moment), follow_symlinks=False)


def filled(root: Path) -> Path:
    (root / "d" / "empty").mkdir(parents=True)
    (root / "d").chmod(0o2750)
    (root / "none").write_bytes(b"")
    (root / "d" / "small").write_bytes(b"small" * 100)
    (root / "d" / "small").chmod(0o640)
    (root / "two MiB").write_bytes(os.urandom(2 * units.MIB + 5))
    (root / "blocks").write_bytes(os.urandom(2 * tuning.BLOCK_BYTES + 7))
    (root / "link").symlink_to("d/small")
    (root / "dangling").symlink_to("../../etc/passwd")
    os.link(root / "d" / "small", root / "second name")
    os.link(root / "d" / "small", root / "d" / "third name")
    with (root / "sparse").open("wb") as sparse:
        sparse.truncate(5 * tuning.BLOCK_BYTES)
        sparse.seek(3 * tuning.BLOCK_BYTES + 100)
        sparse.write(b"in the middle")
    (root / "zeros").write_bytes(bytes(tuning.PACKED_BYTES * 2))
    (root / os.fsdecode(b"not \xff UTF-8")).write_bytes(b"x")
    age(root)
    return root


@pytest.fixture
def mounts(tmp_path: Path) -> TwoMounts:
    made = TwoMounts(tmp_path)
    filled(made.source_root)
    return made


@pytest.mark.parametrize("verify", ["none", "copied", "all"])
@pytest.mark.parametrize("split_bytes", [tuning.SPLIT_BYTES, tuning.BLOCK_BYTES])
def test_everything_arrives_as_it_was(mounts: TwoMounts, verify: str, split_bytes: int) -> None:
    summary = mounts.run({"verify": verify, "limits": {"split_bytes": split_bytes, "shard_seconds": 0.1}})
    assert summary["status"] == "SUCCEEDED", mounts.failures()
    assert described(mounts.root) == described(mounts.source_root)
    assert (mounts.root / "sparse").stat().st_blocks * 512 < units.MIB
    assert not list(mounts.root.glob(".fanout*"))
    if verify != "none":
        found = summary["verification"]
        assert found["source_digest"] == found["destination_digest"]
        assert found["compared"]["entries"] >= 8


def test_given_attributes_cross_over(mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", 0)
    given = {"file_mode": "0604", "directory_mode": "0705", "override": True}
    options = {"attributes": given, "limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}}
    summary = mounts.run({**options, "verify": "all"})
    assert summary["status"] == "SUCCEEDED", mounts.failures()
    here, there = described(mounts.source_root), described(mounts.root)
    for name, (mode, *rest) in here.items():
        expected = stat.S_IMODE(mode) if stat.S_ISLNK(mode) else 0o705 if stat.S_ISDIR(mode) else 0o604
        assert (stat.S_IMODE(there[name][0]), *there[name][1:]) == (expected, *rest), name
    assert mounts.next_run("run-2").run(options)["totals"]["copied"]["entries"] == 0


def test_a_second_run_finds_everything_unchanged(mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", 0)
    first = mounts.run()
    again = mounts.next_run("run-2").run()
    assert again["totals"]["unchanged"] == again["totals"]["listed"] == first["totals"]["listed"]
    (mounts.source_root / "none").write_bytes(b"not any more")
    third = mounts.next_run("run-3")
    assert third.run()["totals"]["copied"]["entries"] == 1
    assert (mounts.root / "none").read_bytes() == b"not any more"


@pytest.mark.parametrize("name", ["two MiB", "blocks"])
def test_what_the_source_does_not_hold_does_not_verify(mounts: TwoMounts, name: str) -> None:
    """Other bytes under the same size and times stand for what was read wrongly while it was copied."""
    split = {"limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}}
    mounts.list_all({"verify": "copied"} | split)
    mounts.copy_all()
    finish_tree(mounts.destination())
    times = (mounts.source_root / name).stat()
    with (mounts.source_root / name).open("r+b") as file:
        file.write(b"others")
    os.utime(mounts.source_root / name, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert mounts.end("copied")["status"] == "FAILED_WITH_ITEMS"
    assert set(mounts.failures()) == {name}


def test_verify_alone_writes_nothing_and_names_every_difference(mounts: TwoMounts) -> None:
    assert mounts.run()["status"] == "SUCCEEDED"
    (mounts.root / "d" / "new").write_bytes(b"only here")
    (mounts.root / "none").unlink()
    changed = bytearray((mounts.root / "two MiB").read_bytes())
    changed[units.MIB] ^= 1
    (mounts.root / "two MiB").write_bytes(changed)
    before = described(mounts.root)
    second = mounts.next_run("run-2")
    assert second.run({"mode": "verify"})["status"] == "FAILED_WITH_ITEMS"
    assert second.failures() == {
        "d/": "mtime differs",
        "d/new": "not at the source",
        "none": "missing at the destination",
        "two MiB": "checksum differs",
    }
    assert described(mounts.root) == before


def test_what_can_not_be_copied_has_its_reason(mounts: TwoMounts) -> None:
    os.mkfifo(mounts.source_root / "fifo")
    (mounts.source_root / "gone").write_bytes(b"1")
    (mounts.source_root / "rewritten").write_bytes(b"1")
    mounts.list_all()
    (mounts.source_root / "gone").unlink()
    (mounts.source_root / "rewritten").write_bytes(b"another size")
    mounts.copy_all()
    finish_tree(mounts.destination())
    summary = mounts.end()
    assert mounts.failures() == {"gone": "source vanished", "rewritten": "source changed"}
    assert summary["totals"]["skipped"]["entries"] == 1
    assert not (mounts.root / "rewritten").exists()


def test_a_big_file_that_changes_while_its_blocks_are_staged_does_not_appear(mounts: TwoMounts) -> None:
    mounts.list_all({"limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}})
    shards = [shard for shard in mounts.shards() if shard.blocks is not None]
    pack_shard(shards[0], mounts.source())
    for path in ("blocks", "sparse"):
        os.utime(mounts.source_root / path)
    mounts.copy_all()
    finish_tree(mounts.destination())
    mounts.end()
    assert mounts.failures() == {"blocks": "source changed", "sparse": "source changed"}
    assert not (mounts.root / "blocks").exists() and not list(mounts.root.glob(".fanout*"))


def test_a_symlink_in_the_destinations_path_is_not_followed(mounts: TwoMounts, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    mounts.list_all()
    mounts.root.mkdir(exist_ok=True)
    (mounts.root / "d").symlink_to(outside)
    mounts.copy_all()
    finish_tree(mounts.destination())
    mounts.end()
    assert mounts.failures()["d/small"] == "symlink in the destination's path"
    assert list(outside.iterdir()) == []


def test_followed_symlinks_are_read_where_the_source_is(tmp_path: Path) -> None:
    mounts = TwoMounts(tmp_path, follow=True)
    (mounts.source_root / "file").write_bytes(b"content")
    (mounts.source_root / "link").symlink_to("file")
    (mounts.source_root / "outside").symlink_to("/etc/passwd")
    mounts.run({"symlinks": "follow"})
    assert (mounts.root / "link").read_bytes() == b"content" and not (mounts.root / "link").is_symlink()
    assert mounts.failures() == {"outside": "symlink that leads out of the source"}


def test_a_listing_goes_no_further_than_the_destinations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", 3)
    monkeypatch.setattr(listing, "ENTRIES_PER_FILE", 2)
    mounts = TwoMounts(tmp_path)
    for number in range(10):
        for root in (mounts.source_root, mounts.root) if number % 3 else (mounts.root,):
            (root / f"d{number % 2}").mkdir(parents=True, exist_ok=True)
            (root / f"d{number % 2}" / f"f{number}").write_bytes(b"same")
    age(mounts.source_root)
    summary = mounts.run({"mode": "verify", "verify": "content"})
    assert summary["totals"]["listed"]["entries"] == 8
    assert mounts.failures() == dict.fromkeys(("d0/f0", "d1/f3", "d0/f6", "d1/f9"), "not at the source")


def test_functions_that_run_out_of_time_hand_on_what_is_left(mounts: TwoMounts) -> None:
    for number in range(300):
        (mounts.source_root / f"n{number}").write_bytes(b"x" * number)
    mounts.world.clock = ManualClock(step=0.05)
    mounts.world.remaining_seconds = 6.0
    mounts.list_all()
    assert max(mounts.copy_shard(shard) for shard in mounts.shards()) > 2
    finish_tree(mounts.destination())
    assert mounts.end()["status"] == "SUCCEEDED"
    assert described(mounts.root) == described(mounts.source_root)


@pytest.mark.parametrize("split_bytes", [tuning.SPLIT_BYTES, tuning.BLOCK_BYTES])
def test_a_shard_that_is_delivered_twice_is_counted_once(mounts: TwoMounts, split_bytes: int) -> None:
    mounts.list_all({"limits": {"split_bytes": split_bytes}})
    for shard in mounts.shards():
        pack_shard(shard, mounts.source())
        pack_shard(shard, mounts.source())
        assert unpack_shard(shard, mounts.destination())["next"] == "done"
        assert unpack_shard(shard, mounts.destination())["next"] == "done"
    assert mounts.staged() == []
    finish_tree(mounts.destination())
    finish_tree(mounts.destination())
    summary = mounts.end()
    assert summary["totals"]["copied"] == summary["totals"]["listed"]
    assert described(mounts.root) == described(mounts.source_root)


def test_staged_bytes_that_are_not_what_was_read_are_never_written(mounts: TwoMounts) -> None:
    mounts.list_all()
    (shard,) = [one for one in mounts.shards() if not one.id.startswith("names")]
    pack_shard(shard, mounts.source())
    for key in mounts.staged():
        if "/index/" not in key:
            mounts.store.put(key, bytes(byte ^ 1 for byte in mounts.store.get(key)))
    unpack_shard(shard, mounts.destination())
    damaged = mounts.root / "two MiB"
    assert not damaged.exists() and not (mounts.root / "link").is_symlink()


def test_staged_blocks_that_are_not_what_was_read_are_never_written(mounts: TwoMounts) -> None:
    mounts.list_all({"limits": {"split_bytes": tuning.BLOCK_BYTES}})
    shard = next(one for one in mounts.shards() if one.blocks is not None and one.bytes < 3 * tuning.BLOCK_BYTES)
    pack_shard(shard, mounts.source())
    for key in mounts.staged():
        mounts.store.put(key, b"\1" * len(mounts.store.get(key)))
    with pytest.raises(Transient, match="not what was read"):
        unpack_shard(shard, mounts.destination())


def test_what_a_run_staged_goes_with_its_end_also_if_it_broke_off(mounts: TwoMounts) -> None:
    mounts.list_all()
    for shard in mounts.shards():
        pack_shard(shard, mounts.source())
    assert mounts.staged()
    finish_tree(mounts.destination())
    assert mounts.staged() == []


def parsed(**options: Any) -> Any:
    return parse_request(REQUEST | options, ("data", "archive"), 10)


def test_what_makes_no_sense_between_two_mounts_is_refused() -> None:
    assert parsed().between_mounts and not parsed(destination="efs://data/out").between_mounts
    with pytest.raises(InvalidRequest, match="on_conflict"):
        parsed(on_conflict="escape")
