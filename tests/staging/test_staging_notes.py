"""The notes that a long PackShard leaves of how far it is, and what a watcher makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.books import Count
from fanout.model.shard import Shard
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_from_key, note_key, notes_prefix
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from fanout_cli.progress.ledger_looks import LedgerLooks
from fanout_cli.progress.run_progress import RunProgress, progress_of
from fanout_cli.progress.text import details
from tests.support.flow import ManualClock
from tests.support.two_mounts import TwoMounts

FILES, SIZE = 40, 1_000


def partitioned(base: Path) -> TwoMounts:
    mounts = TwoMounts(base)
    for number in range(FILES):
        (mounts.source_root / f"f{number:02d}").write_bytes(b"x" * SIZE)
    mounts.list_all()
    return mounts


def slowly(mounts: TwoMounts) -> ManualClock:
    clock = mounts.world.clock
    clock.step = 0.4
    return clock


def notes(mounts: TwoMounts) -> list[Attempt]:
    found = [attempt_from_key(key) for key in mounts.world.ledger.keys(notes_prefix("pack"))]
    return sorted(found, key=lambda note: note.ended or 0.0)


def watched(mounts: TwoMounts) -> RunProgress:
    return progress_of(LedgerLooks(mounts.world.ledger).look(0.0))


def only(mounts: TwoMounts) -> Shard:
    [shard] = mounts.shards()
    return shard


def test_a_long_staging_is_noted_and_shown_until_the_other_side_begins(tmp_path: Path) -> None:
    mounts = partitioned(tmp_path)
    shard, clock = only(mounts), slowly(mounts)
    pack_shard(shard, mounts.source())
    clock.step = 0.0
    latest = notes(mounts)[-1]
    assert latest.shard_id == shard.id
    assert 0 < latest.entries == latest.cursor <= FILES
    assert latest.bytes == latest.entries * SIZE
    seen = watched(mounts)
    assert seen.staged == Count(latest.entries, latest.bytes)
    assert any(part.endswith(" staged") for part in details(seen))
    assert seen.document()["staged"] == {"entries": latest.entries, "bytes": latest.bytes}
    assert (seen.done.entries, seen.share) == (0, 0.0)
    assert unpack_shard(shard, mounts.destination())["done"]
    after = watched(mounts)
    assert (after.staged, after.done.entries) == (Count(), FILES)


def test_a_short_staging_leaves_no_note(tmp_path: Path) -> None:
    mounts = partitioned(tmp_path)
    pack_shard(only(mounts), mounts.source())
    assert notes(mounts) == []
    assert watched(mounts).staged == Count()


def test_a_part_of_a_big_file_is_noted_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "BLOCKS_IN_FLIGHT", 1)
    mounts = TwoMounts(tmp_path)
    size = 6 * tuning.BLOCK_BYTES + 5
    (mounts.source_root / "big").write_bytes(b"x" * size)
    mounts.list_all({"limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 450}})
    clock = slowly(mounts)
    clock.step = 2.0
    for shard in mounts.shards():
        pack_shard(shard, mounts.source())
    clock.step = 0.0
    found = notes(mounts)
    assert found and {note.shard_id for note in found} <= {shard.id for shard in mounts.shards()}
    assert all(0 < note.bytes <= size for note in found)
    staged = watched(mounts).staged
    assert (staged.entries, 0 < staged.bytes <= size) == (0, True)


def test_no_book_believes_a_note(tmp_path: Path) -> None:
    mounts = partitioned(tmp_path)
    lie = Attempt(only(mounts).id, "liar", 1e6, 1e6 + 5, 10**9, 10**9, 10**9, AttemptEnd.AT_WORK)
    mounts.world.ledger.mark(note_key("pack", lie))
    assert watched(mounts).staged == Count(FILES, FILES * SIZE)  # no more than the shard holds
    mounts.copy_all()
    finish_tree(mounts.destination())
    assert mounts.end()["totals"]["copied"] == {"entries": FILES, "bytes": FILES * SIZE}
