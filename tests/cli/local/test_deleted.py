"""The names of what a sync deleted, as ``fanout report`` brings them."""

from __future__ import annotations

import json
from pathlib import Path

from fanout.deleting.deletions import deleted_entries
from fanout_cli.runs.reports import write_deleted
from tests.cli.conftest import Aws
from tests.support.mounts import world_of
from tests.support.syncs import SYNC, extended, names

MINE = ("--stack", "mine")


def test_report_brings_the_names_that_a_sync_deleted(aws: Aws, tmp_path: Path) -> None:
    mount = extended(tmp_path / "mount")
    before = names(mount / "out")
    world = world_of(mount)
    assert world.run(SYNC)["status"] == "SUCCEEDED"
    for key in world.store.list("runs/run-1/"):
        aws.put(key, world.store.get(key))
    report = aws.fanout("report", "run-1", *MINE, "--output", str(tmp_path / "out"), "--json")
    assert report.exit_code == 0, report.stderr
    path = json.loads(report.stdout)["paths"]["deleted"]
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    assert {row["path"].rstrip("/") for row in rows} == before - names(mount / "out")
    assert {row["kind"] for row in rows} == {"file", "directory", "symlink"}
    assert len(rows) == len({row["path"] for row in rows}) == 9
    assert f"deleted: {path}" in aws.fanout("report", "run-1", *MINE, "--output", str(tmp_path / "out")).stderr


def test_what_was_kept_is_not_among_them(tmp_path: Path) -> None:
    mount = extended(tmp_path)
    world = world_of(mount)
    asked = {**SYNC, "exclude": ["keep/old"]}
    summary = world.run(asked)
    found = {one.path for one in deleted_entries(world.ledger)}
    assert len(found) == summary["totals"]["deleted"]["entries"] > 0
    assert "keep/old" not in found and (mount / "out/keep/old").exists()


def test_a_run_that_deleted_nothing_has_no_such_file(tmp_path: Path) -> None:
    mount = extended(tmp_path / "mount")
    world = world_of(mount)
    world.run({**SYNC, "mode": "copy"})
    summary = world.store.get("runs/run-1/summary.json")
    assert write_deleted(summary, world.ledger, tmp_path) is None
    assert not (tmp_path / "deleted.jsonl").exists()
    assert list(deleted_entries(world.ledger)) == []
