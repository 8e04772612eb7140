"""What a verification cannot compare is said, and is no difference: owners, set-id bits, names over EFS's limit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.facts.holdings import HOLDINGS, Fate, direction_of
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.nobody import as_nobody, open_directory
from tests.verifying.verified_ends import (
    FILE,
    FROM_S3,
    INSIDE_S3,
    OLD_NS,
    TO_S3,
    WITHIN,
    Between,
    Direction,
    filled,
    not_compared,
)

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")


def test_an_object_without_metadata_holds_nothing_to_compare(tmp_path: Path) -> None:
    ends = Direction(tmp_path, FROM_S3)
    assert isinstance(ends.world.source, MemoryTree)
    ends.world.source.put("plain", Kind.FILE, b"put by somebody", Attributes(headers={"content-type": "text/plain"}))
    assert ends.run("run-1", {"verify": "all"})["status"] == "SUCCEEDED"
    (ends.root / "plain").chmod(0o600)
    os.utime(ends.root / "plain", ns=(1, 1))
    found = ends.run("run-2", {"mode": "verify"})
    assert found["status"] == "SUCCEEDED"
    assert not_compared(found)["attributes"] == 1
    assert not_compared(ends.run("run-3", {"mode": "verify", "verify": "content"})) == {"attributes and metadata": None}


@pytest.mark.parametrize("request_", [WITHIN, TO_S3, FROM_S3, INSIDE_S3])
def test_all_that_no_comparison_of_the_direction_looks_at_is_named(tmp_path: Path, request_: Json) -> None:
    summary = Direction(tmp_path, request_).run("run-1", {"verify": "all"})
    named = ", ".join(not_compared(summary)).split(", ")
    direction = direction_of(request_["source"].startswith("s3:"), request_["destination"].startswith("s3:"))
    left_out = [row.what for row in HOLDINGS if row.fate(direction) not in (Fate.COMPARED, Fate.NONE)]
    assert set(left_out) <= set(named)
    assert not {row.what for row in HOLDINGS if row.fate(direction) is Fate.COMPARED} & set(named)


@pytest.mark.parametrize("owner_of_set_id", [0o4755, 0o6755])
def test_owners_that_can_not_be_kept_are_no_difference(owner_of_set_id: int) -> None:
    with open_directory() as mount:
        filled(mount / "in")
        (mount / "in" / FILE).chmod(0o644)
        (mount / "in/set-id").chmod(owner_of_set_id)
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)

        def run() -> Any:
            world = World(
                source=PosixTree(mount, "in", "run-1", "s", "source"), destination=PosixTree(mount, "out", "run-1", "d")
            )
            found = [world.run({**WITHIN, "verify": "all"}), world.next_run("run-2").run({**WITHIN, "mode": "verify"})]
            (mount / "out" / FILE).chmod(0o600)
            (mount / "out/set-id").chmod(0o4755)
            third = world.next_run("run-3")
            return [*found, third.run({**WITHIN, "mode": "verify"}), list(third.ledger.read_rows("failures.jsonl"))]

        copied, verified, changed, rows = as_nobody(run)
        for summary in (copied, verified):
            assert summary["status"] == "SUCCEEDED", rows
            if not os.geteuid():
                assert "owners" in not_compared(summary)
                (why,) = [one["why"] for one in summary["verification"]["not_compared"] if one["what"] == "owners"]
                assert "owners cannot be kept" in why
        assert changed["status"] == "FAILED_WITH_ITEMS"
        assert FILE in {row["path"] for row in rows if row["reason"] == "mode differs"}


def test_a_copy_that_drops_set_id_bits_may_not_have_more_of_them(tmp_path: Path) -> None:
    """Without an owner that is held the bits may be missing, but never be there when the source has none."""
    ends = Direction(tmp_path, FROM_S3)
    assert isinstance(ends.world.source, MemoryTree)
    ends.world.source.put("no-owner", Kind.FILE, b"#!", Attributes(0o106755))
    ends.world.source.put("plain", Kind.FILE, b"#!", Attributes(0o100755))
    ends.run("run-1", {})
    (ends.root / "no-owner").chmod(0o755)
    (ends.root / "plain").chmod(0o4755)
    ends.run("run-2", {"mode": "verify"})
    assert ends.failures() == {"plain": "mode differs"}


def names_of(root: Path, count: int, limit: int) -> None:
    """``count`` names of one file, as files of at most ``limit`` names each."""
    root.mkdir(exist_ok=True)
    for number in range(count):
        if number % limit:
            os.link(root / f"n{number - number % limit:04}", root / f"n{number:04}")
        else:
            (root / f"n{number:04}").write_bytes(b"x")
            os.utime(root / f"n{number:04}", ns=(OLD_NS, OLD_NS))


@pytest.mark.parametrize(("limit", "differs"), [(1_000, False), (176, False), (60, True)])
@pytest.mark.parametrize("names_held", [tuning.LINKED_NAMES, 50])
def test_names_over_the_limit_of_efs_may_be_several_files(
    tmp_path: Path, limit: int, differs: bool, names_held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "LINKED_NAMES", names_held)
    names_of(tmp_path / "in", 200, 1_000)
    names_of(tmp_path / "out", 200, limit)
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    summary = world.run({**WITHIN, "mode": "verify"})
    assert (summary["status"] == "FAILED_WITH_ITEMS") is differs
    assert summary["totals"]["listed"]["entries"] == 200 and summary["balanced"]
    reasons = {row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
    assert reasons == ({"hard links differ"} if differs else set())


@is_root
def test_attributes_of_a_file_compared_in_blocks_are_compared_once(tmp_path: Path) -> None:
    options = {"limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}}
    for ends in (Direction(tmp_path / "a", WITHIN, options), Between(tmp_path / "b", options)):
        source = ends.root.parent / "in" if isinstance(ends, Direction) else ends.mounts.source_root
        (source / "big").write_bytes(os.urandom(2 * tuning.BLOCK_BYTES + 5))
        assert ends.run("run-1", {"verify": "all"})["status"] == "SUCCEEDED", ends.failures()
        (ends.root / "big").chmod(0o600)
        found = ends.run("run-2", {"mode": "verify"})
        assert ends.failures() == {"big": "mode differs"}
        assert found["verification"]["by_class"] == [{"reason": "mode differs", "entries": 1}]
        assert ends.run("run-3", {"mode": "verify", "verify": "content"})["status"] == "SUCCEEDED"


def test_a_copy_of_more_names_than_a_file_of_efs_has_is_equal(tmp_path: Path) -> None:
    names_of(tmp_path / "in", 200, 1_000)
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    assert world.run({**WITHIN, "verify": "all"})["status"] == "SUCCEEDED"
    assert len({path.stat().st_ino for path in (tmp_path / "out").iterdir()}) == 2


@is_root
def test_owners_are_compared_where_no_run_has_tried_to_keep_them(tmp_path: Path) -> None:
    for name, owner in (("in", 4711), ("out", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("f")
        os.chown(tmp_path / name / "f", owner, owner)
        os.utime(tmp_path / name / "f", ns=(OLD_NS, OLD_NS))
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    assert world.run({**WITHIN, "mode": "verify"})["verification"]["by_class"] == [
        {"reason": "owner differs", "entries": 1}
    ]
    assert "trees differ: 1 owner differs" in world.ledger.read_json("summary.json")["error"]["message"]
    assert "owner differs" in world.store.get("runs/run-1/report.html").decode()


def test_a_name_of_a_file_too_large_for_one_function_is_compared_by_itself_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "COMPARE_BYTES", tuning.BLOCK_BYTES)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big").write_bytes(bytes(tuning.BLOCK_BYTES + 1))
    os.link(tmp_path / "in/big", tmp_path / "in/other")
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    summary = world.run({**WITHIN, "verify": "all", "limits": {"split_bytes": tuning.BLOCK_BYTES}})
    assert summary["status"] == "SUCCEEDED"
    assert not_compared(summary)["hard links"] == 2
