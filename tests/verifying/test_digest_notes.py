"""The notes that a long DigestShard leaves of how far it is, and what a watcher makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.shards.tasks.attempt import Attempt, attempt_from_key, notes_prefix
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from fanout_cli.progress.ledger_looks import LedgerLooks
from fanout_cli.progress.run_progress import RunProgress, progress_of
from fanout_cli.progress.text import details
from tests.support.two_mounts import TwoMounts

FILES, SIZE = 40, 1_000


def copied(base: Path, files: int, size: int, **limits: int) -> TwoMounts:
    """Two file systems after a copy whose verification is next."""
    mounts = TwoMounts(base)
    for number in range(files):
        (mounts.source_root / f"f{number:02d}").write_bytes(b"x" * size)
    mounts.list_all({"verify": "copied", "limits": {"shard_seconds": 450, **limits}})
    mounts.copy_all()
    return mounts


def notes(ledger: Ledger) -> list[Attempt]:
    found = [attempt_from_key(key) for key in ledger.keys(notes_prefix("digest"))]
    return sorted(found, key=lambda note: note.ended or 0.0)


def watched(mounts: TwoMounts) -> RunProgress:
    mounts.world.ledger.begin("verify", mounts.world.clock.now())
    return progress_of(LedgerLooks(mounts.world.ledger).look(0.0))


def test_a_long_reading_at_the_source_is_noted_and_shown_until_the_other_side_begins(tmp_path: Path) -> None:
    mounts = copied(tmp_path, FILES, SIZE)
    [shard] = mounts.shards()
    mounts.world.clock.step = 0.4
    digest_shard(shard, mounts.source())
    mounts.world.clock.step = 0.0
    latest = notes(mounts.world.ledger)[-1]
    assert 0 < latest.entries == latest.cursor <= FILES
    assert latest.bytes == latest.entries * SIZE
    seen = watched(mounts)
    assert seen.phase == "verify"
    assert seen.staged == Count(latest.entries, latest.bytes)
    assert any(part.endswith(" read at the source") for part in details(seen))
    assert verify_shard(shard, mounts.destination())["done"]
    assert watched(mounts).staged == Count()


def test_a_short_reading_leaves_no_note(tmp_path: Path) -> None:
    mounts = copied(tmp_path, FILES, SIZE)
    digest_shard(mounts.shards()[0], mounts.source())
    assert notes(mounts.world.ledger) == []


def test_a_part_of_a_big_file_is_noted_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "BLOCKS_IN_FLIGHT", 1)
    mounts = copied(tmp_path, 1, 6 * tuning.BLOCK_BYTES + 5, split_bytes=tuning.BLOCK_BYTES)
    mounts.world.clock.step = 2.0
    for shard in mounts.shards():
        if shard.blocks is not None:
            digest_shard(shard, mounts.source())
    found = notes(mounts.world.ledger)
    assert found and all(0 < note.bytes <= 6 * tuning.BLOCK_BYTES + 5 for note in found)
