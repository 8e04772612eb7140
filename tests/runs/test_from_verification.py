"""What a verification lists is a manifest: a copy of it mends what another tool copied, and copies nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from fanout.adapters.posix.tree import PosixTree
from tests.support.flow import World

BETWEEN = {"source": "efs:///in", "destination": "efs:///out"}
MOMENT = 10**18


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(MOMENT, MOMENT))


def test_only_what_differs_is_copied_and_then_the_trees_are_equal(tmp_path: Path) -> None:
    for path in ("same", "d/bytes", "d/mode", "d/missing"):
        write(tmp_path / "in" / path, path)
        write(tmp_path / "out" / path, path)
    write(tmp_path / "out/d/bytes", "d/bytez")  # as long and as old
    (tmp_path / "out/d/mode").chmod(0o600)
    (tmp_path / "out/d/missing").unlink()
    write(tmp_path / "in/e/f/g", "below directories that are alike")
    write(tmp_path / "out/e/f/g", "below directories that are alikf")
    for directory in ("e", "e/f"):
        for end in ("in", "out"):
            os.utime(tmp_path / end / directory, ns=(MOMENT, MOMENT))
    write(tmp_path / "out/extra", "of somebody else")

    def world_of(run_id: str) -> World:
        source = PosixTree(tmp_path, "in", run_id, "s", "source")
        return World(source=source, destination=PosixTree(tmp_path, "out", run_id, "n"), run_id=run_id)

    found = world_of("checks")
    assert found.run({**BETWEEN, "mode": "verify"})["status"] == "FAILED_WITH_ITEMS"
    copy = world_of("mends")
    copy.objects.put("work", "runs/checks/failures.jsonl", found.ledger.read_bytes("failures.jsonl"))
    manifest = {"manifest": "s3://work/runs/checks/failures.jsonl", "compare": "always"}
    summary = copy.run({**BETWEEN, **manifest})
    assert summary["status"] == "SUCCEEDED", list(copy.ledger.read_rows("failures.jsonl"))
    assert summary["totals"]["copied"]["entries"] == len(
        ("d/", "d/bytes", "d/mode", "d/missing", "e/", "e/f/", "e/f/g")
    )
    assert summary["totals"]["skipped"]["entries"] == len(("extra",))
    again = world_of("checks-2")
    again.run({**BETWEEN, "mode": "verify"})
    assert [row["path"] for row in again.ledger.read_rows("failures.jsonl")] == ["extra"]
    assert (tmp_path / "out/extra").read_text() == "of somebody else"
