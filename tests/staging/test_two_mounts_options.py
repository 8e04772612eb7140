"""Between two mounts: filters, a plan, a resumed run, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.errors import InvalidRequest
from tests.support.trees import described
from tests.support.two_mounts import TwoMounts

SMALL = {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}


@pytest.fixture
def mounts(tmp_path: Path) -> TwoMounts:
    made = TwoMounts(tmp_path)
    for number in range(60):
        path = made.source_root / f"d{number % 4}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes([number]) * number)
    (made.source_root / "big").write_bytes(b"b" * (3 * tuning.BLOCK_BYTES + 1))
    return made


def test_what_is_excluded_is_skipped_and_left_alone_on_the_other_side(mounts: TwoMounts) -> None:
    (mounts.root / "d1").mkdir(parents=True)
    (mounts.root / "d1" / "own").write_bytes(b"stays")
    summary = mounts.run({"exclude": ["d1/", "*9"]})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["skipped"]["entries"] == 1 + 3
    assert [path.name for path in (mounts.root / "d1").iterdir()] == ["own"]
    assert not (mounts.root / "d3" / "f59").exists() and (mounts.root / "d2" / "f58").exists()


def test_a_plan_says_what_would_be_done_and_writes_at_neither_end(mounts: TwoMounts) -> None:
    mounts.root.mkdir(parents=True)
    (mounts.root / "extra").write_bytes(b"extra")
    before = described(mounts.source_root), described(mounts.root)
    what = mounts.list_all({"mode": "plan", "limits": SMALL})
    assert what["next"] == "plan"
    summary = mounts.end()
    assert summary["status"] == "SUCCEEDED"
    assert summary["planned"]["to_copy"]["entries"] == 60 + 4 + 1
    assert summary["planned"]["to_delete"]["entries"] == 1
    assert (described(mounts.source_root), described(mounts.root)) == before
    assert mounts.staged() == []


def test_a_resumed_run_copies_what_the_stopped_one_did_not(mounts: TwoMounts) -> None:
    mounts.list_all({"limits": SMALL})
    shards = mounts.shards()
    assert len(shards) > 2
    for shard in shards[1:]:
        mounts.copy_shard(shard)
    second = mounts.next_run("run-2")
    summary = second.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED", second.failures()
    assert summary["totals"]["listed"]["entries"] == 60 + 4 + 1
    assert summary["totals"]["unchanged"]["entries"] > 0 < summary["totals"]["copied"]["entries"]
    assert described(mounts.root) == described(mounts.source_root)
    assert not list(mounts.root.glob(".fanout*"))


@pytest.mark.parametrize("damage", [False, True])
def test_a_big_file_is_compared_block_by_block_each_end_on_its_side(mounts: TwoMounts, damage: bool) -> None:
    assert mounts.run()["status"] == "SUCCEEDED"
    if damage:
        with (mounts.root / "big").open("r+b") as file:
            file.seek(2 * tuning.BLOCK_BYTES + 5)
            file.write(b"not it")
    second = mounts.next_run("run-2")
    summary = second.run({"mode": "verify", "limits": SMALL})
    assert summary["status"] == ("FAILED_WITH_ITEMS" if damage else "SUCCEEDED")
    assert second.failures() == ({"big": "checksum differs"} if damage else {})


def test_a_verification_names_what_only_the_destination_holds(mounts: TwoMounts) -> None:
    assert mounts.run()["status"] == "SUCCEEDED"
    (mounts.root / "d1" / "own").write_bytes(b"own")
    (mounts.root / "d9" / "deep").mkdir(parents=True)
    (mounts.root / "d2" / "f2").unlink()
    second = mounts.next_run("run-2")
    summary = second.run({"mode": "verify"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    found = second.failures()
    assert {path for path, reason in found.items() if reason == "not at the source"} == {"d1/own", "d9/", "d9/deep/"}
    assert found["d2/f2"] == "missing at the destination"


@pytest.mark.parametrize("on_conflict", ["escape", "unescape"])
def test_between_file_systems_there_is_nothing_to_escape(mounts: TwoMounts, on_conflict: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^on_conflict: there is nothing to"):
        mounts.list_all({"on_conflict": on_conflict})


def test_what_a_stopped_run_staged_at_the_destination_goes_with_the_run_that_resumes_it(mounts: TwoMounts) -> None:
    mounts.list_all({"limits": SMALL})
    for shard in mounts.shards():
        if shard.blocks is not None:
            mounts.copy_shard(shard)
    second = mounts.next_run("run-2")
    second.list_all({"resume_from": "run-1"})
    second.copy_all()
    finish_tree(second.destination())
    assert second.end()["status"] == "SUCCEEDED"
    assert second.staged() == []
