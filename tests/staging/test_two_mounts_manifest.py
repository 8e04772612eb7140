"""Between two mounts, what a manifest names is copied as within one: its rows are looked up on both sides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.listing import list_destination
from fanout.listing.manifests import list_manifest
from fanout.model.entry import Entry
from fanout.model.errors import LedgerBroken, Throttled
from fanout.model.outcome import Reason
from fanout.model.segment import DestinationListing
from tests.support.flow import World
from tests.support.manifests import PLACE, csv_rows, json_lines
from tests.support.trees import described
from tests.support.two_mounts import TwoMounts

ROWS = [
    *(
        "d0/f0",
        "d1/f1",
        "d1/f5",
        "private/deep/x",
        "d2/",
        "link",
        "one",
        "two",
        "gone",
        "../out",
        "d3",
        "a/b",
        "changed",
    ),
    *("same", "kind", "d1/f1"),
]


@pytest.fixture
def mounts(tmp_path: Path) -> TwoMounts:
    made = TwoMounts(tmp_path)
    root = made.source_root
    for number in range(40):
        path = root / f"d{number % 4}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes([number]) * number)
    (root / "private" / "deep").mkdir(parents=True)
    (root / "private" / "deep" / "x").write_bytes(b"x")
    (root / "private").chmod(0o700)
    (root / "link").symlink_to("d0/f0")
    (root / "one").write_bytes(b"several names")
    os.link(root / "one", root / "two")
    for name in ("changed", "same", "kind"):
        (root / name).write_bytes(name.encode())
    return made


def named(world: World, rows: list[Any] | None = None, form: str = "jsonl") -> dict[str, Any]:
    rows = ROWS if rows is None else rows
    data = csv_rows([[row] for row in rows]) if form == "csv" else json_lines(rows)
    world.objects.put("lists", PLACE[form], data)
    return {"manifest": f"s3://lists/{PLACE[form]}"}


def stands_there(root: Path, mounts: TwoMounts) -> None:
    """What a destination holds already: an old file, a right one, another kind, a directory, an own file."""
    root.mkdir(parents=True)
    (root / "changed").write_bytes(b"old")
    (root / "same").write_bytes(b"same")
    kept = (mounts.source_root / "same").stat()
    os.utime(root / "same", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    (root / "kind").mkdir()
    (root / "d1").mkdir(mode=0o711)
    (root / "own").write_bytes(b"own")


def untimed(root: Path) -> dict[str, Any]:
    """What a tree holds, without the times of directories that no row names."""
    return {path: (*one[:3], *one[4:]) for path, one in described(root).items()}


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_between_two_mounts_as_within_one(mounts: TwoMounts, tmp_path: Path, form: str) -> None:
    stands_there(mounts.root, mounts)
    stands_there(tmp_path / "data" / "out", mounts)
    within = World(
        source=PosixTree(tmp_path / "data", "in", "run-1", "s", "source"),
        destination=PosixTree(tmp_path / "data", "out", "run-1", "n"),
    )
    once = within.run({"source": "efs:///in", "destination": "efs:///out", **named(within, form=form)})
    between = mounts.run(named(mounts.world, form=form))
    for field in ("status", "totals", "failures", "notes"):
        assert between[field] == once[field], field
    assert mounts.failures() == {row["path"]: row["reason"] for row in within.ledger.read_rows("failures.jsonl")}
    assert between["totals"]["copied"]["entries"] and between["totals"]["failed"]["entries"]
    assert untimed(mounts.root) == untimed(tmp_path / "data" / "out")
    assert ((mounts.root / "private").stat().st_mode & 0o777) == 0o700
    assert ((mounts.root / "d1").stat().st_mode & 0o777) == 0o711


def test_what_there_is_no_time_or_room_for_is_handed_back(mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_manifest, "LOOKED_UP_PATHS", 7)
    monkeypatch.setattr(list_destination, "ENTRIES_PER_FILE", 3)
    monkeypatch.setattr(tuning, "MANIFEST_PART_BYTES", 200)
    rows = [f"d{number % 4}/f{number}" for number in range(40)]
    summary = mounts.run(named(mounts.world, rows))
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 40)
    assert summary["totals"]["listed"]["entries"] == 40
    assert mounts.world.ledger.has(keys.round_key(2))
    copied = sorted(str(path.relative_to(mounts.root)) for path in mounts.root.rglob("f*"))
    assert copied == sorted(rows)


def test_what_was_not_looked_up_is_never_taken_for_missing(mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    write = mounts.world.ledger.__class__.write

    def without_looks(ledger: Any, key: Any, document: Any) -> None:
        is_listing = isinstance(document, DestinationListing)
        write(ledger, key, DestinationListing([], "") if is_listing else document)

    monkeypatch.setattr(mounts.world.ledger.__class__, "write", without_looks)
    with pytest.raises(LedgerBroken, match="does not say what the destination holds at"):
        mounts.list_all(named(mounts.world))


def test_a_destination_that_does_not_answer_ends_the_listing(
    mounts: TwoMounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(tree: PosixTree, path: str) -> Entry | None:
        raise Throttled("busy")

    monkeypatch.setattr(PosixTree, "find", find)
    with pytest.raises(Throttled):
        mounts.list_all(named(mounts.world))


def test_the_failures_of_a_run_are_the_manifest_of_the_next(mounts: TwoMounts) -> None:
    (mounts.root / "d0" / "f0").mkdir(parents=True)
    first = mounts.run()
    assert (
        mounts.failures() == {"d0/f0": "destination has another kind of entry"}
        and first["status"] == "FAILED_WITH_ITEMS"
    )
    (mounts.root / "d0" / "f0").rmdir()
    second = mounts.next_run("run-2")
    second.world.objects.put("work", "runs/run-1/failures.jsonl", mounts.store.get("runs/run-1/failures.jsonl"))
    summary = second.run({"manifest": "s3://work/runs/run-1/failures.jsonl"})
    assert (summary["status"], summary["totals"]["listed"]["entries"]) == ("SUCCEEDED", 1)
    assert untimed(mounts.root) == untimed(mounts.source_root)


def test_a_directory_that_could_not_be_listed_is_listed_below_those_above_it(mounts: TwoMounts) -> None:
    rows = [{"path": "private/deep/", "reason": Reason.UNLISTABLE.value}]
    summary = mounts.run(named(mounts.world, rows))
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 2), mounts.failures()
    assert (mounts.root / "private" / "deep" / "x").read_bytes() == b"x"
    assert ((mounts.root / "private").stat().st_mode & 0o777) == 0o700


@pytest.mark.parametrize(("on_conflict", "ended"), [("fail", "rejected"), ("skip", "skipped")])
def test_a_name_that_cannot_be_kept_ends_as_the_request_says(mounts: TwoMounts, on_conflict: str, ended: str) -> None:
    summary = mounts.run({**named(mounts.world, ["d0/f0", "../out", "a//b"]), "on_conflict": on_conflict})
    assert summary["status"] == ("FAILED_WITH_ITEMS" if ended == "rejected" else "SUCCEEDED")
    assert (summary["totals"][ended]["entries"], summary["totals"]["copied"]["entries"]) == (2, 1)


@pytest.mark.parametrize("options", [{"mode": "verify"}, {"verify": "all"}, {"verify": "copied"}], ids=str)
def test_what_it_names_is_verified_and_nothing_else(mounts: TwoMounts, options: dict[str, str]) -> None:
    rows = ["d0/f4", "d1/f1", "link"]
    assert mounts.run(named(mounts.world, rows))["status"] == "SUCCEEDED"
    (mounts.root / "own").write_bytes(b"own")
    second = mounts.next_run("run-2")
    summary = second.run({**named(second.world, rows), **options})
    assert summary["status"] == "SUCCEEDED", second.failures()
    assert summary["totals"]["listed"]["entries"] == 3
    if options.get("verify") != "copied":
        (mounts.root / "d0" / "f4").write_bytes(b"!!!!")
        third = mounts.next_run("run-3")
        compared = third.run({**named(third.world, rows), "mode": "verify"})
        assert (compared["status"], list(third.failures())) == ("FAILED_WITH_ITEMS", ["d0/f4"])


def test_a_resumed_run_goes_on_with_its_rows(mounts: TwoMounts) -> None:
    rows = [f"d{number % 4}/f{number}" for number in range(40)] + ["private/deep/x", "big"]
    (mounts.source_root / "big").write_bytes(b"b" * (2 * tuning.BLOCK_BYTES + 1))
    limits = {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}
    mounts.list_all({**named(mounts.world, rows), "limits": limits})
    shards = mounts.shards()
    assert len(shards) > 1
    mounts.copy_shard(next(shard for shard in shards if shard.blocks is None))
    second = mounts.next_run("run-2")
    summary = second.run({**named(second.world, rows), "resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED", second.failures()
    assert summary["totals"]["listed"]["entries"] == len(rows)
    assert summary["totals"]["copied"]["entries"] and summary["totals"]["unchanged"]["entries"]
    assert ((mounts.root / "private").stat().st_mode & 0o777) == 0o700
    assert (mounts.root / "private" / "deep" / "x").read_bytes() == b"x"
