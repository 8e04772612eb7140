"""What a verification lists is a manifest: a copy of it mends what another tool copied, and copies nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fanout.model.outcome import Reason
from tests.support.mounts import world_of

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

    found = world_of(tmp_path, "checks")
    assert found.run({**BETWEEN, "mode": "verify"})["status"] == "FAILED_WITH_ITEMS"
    copy = world_of(tmp_path, "mends")
    copy.objects.put("work", "runs/checks/failures.jsonl", found.ledger.read_bytes("failures.jsonl"))
    manifest = {"manifest": "s3://work/runs/checks/failures.jsonl", "compare": "always"}
    summary = copy.run({**BETWEEN, **manifest})
    assert summary["status"] == "SUCCEEDED", list(copy.ledger.read_rows("failures.jsonl"))
    assert summary["totals"]["copied"]["entries"] == len(
        ("d/", "d/bytes", "d/mode", "d/missing", "e/", "e/f/", "e/f/g")
    )
    assert summary["totals"]["skipped"]["entries"] == len(("extra",))
    again = world_of(tmp_path, "checks-2")
    again.run({**BETWEEN, "mode": "verify"})
    assert [row["path"] for row in again.ledger.read_rows("failures.jsonl")] == ["extra"]
    assert (tmp_path / "out/extra").read_text() == "of somebody else"


def test_the_directories_above_one_that_could_not_be_listed_get_their_times_too(tmp_path: Path) -> None:
    write(tmp_path / "in/d/e/f/x", "x")
    (tmp_path / "out/d").mkdir(parents=True)
    for path in ("in/d/e/f", "in/d/e", "in/d", "out/d"):
        os.utime(tmp_path / path, ns=(MOMENT, MOMENT))
    world = world_of(tmp_path, "mends")
    row = {"path": "d/e/", "reason": Reason.UNLISTABLE.value, "phase": "verify"}
    world.objects.put("work", "runs/checks/failures.jsonl", json.dumps(row).encode())
    manifest = {"manifest": "s3://work/runs/checks/failures.jsonl", "compare": "always"}
    assert world.run({**BETWEEN, **manifest})["status"] == "SUCCEEDED"
    assert world_of(tmp_path, "checks-2").run({**BETWEEN, "mode": "verify"})["status"] == "SUCCEEDED"
