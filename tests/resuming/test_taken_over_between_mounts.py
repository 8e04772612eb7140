"""A resumed run between two mounts looks whether the destination still holds what was done."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fanout.facts import tuning
from fanout.model.document import Json
from tests.support.two_mounts import TwoMounts

SPLIT: Json = {"limits": {"split_bytes": tuning.BLOCK_BYTES}}


def filled(base: Path) -> TwoMounts:
    mounts = TwoMounts(base)
    for path in ("top", "d/f", "d/g", "e/name", "e/deep/h"):
        (mounts.source_root / path).parent.mkdir(parents=True, exist_ok=True)
        (mounts.source_root / path).write_text(path)
    (mounts.source_root / "big").write_bytes(b"x" * (2 * tuning.BLOCK_BYTES + 1))
    os.link(mounts.source_root / "e/name", mounts.source_root / "d/other-name")
    (mounts.source_root / "link").symlink_to("top")
    return mounts


def held(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() or path.is_symlink())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def damage(root: Path) -> None:
    shutil.rmtree(root / "d")
    (root / "link").unlink()
    (root / "big").unlink()
    (root / "top").write_text("another")


def test_what_is_gone_or_changed_is_copied_again(tmp_path: Path) -> None:
    mounts = filled(tmp_path)
    assert mounts.run(SPLIT)["status"] == "SUCCEEDED"
    for number in (2, 3):  # the third resumes a ledger that holds outcomes alone
        damage(mounts.root)
        mounts = mounts.next_run(f"run-{number}")
        summary = mounts.run({"resume_from": f"run-{number - 1}"})
        assert summary["status"] == "SUCCEEDED"
        assert held(mounts.root) == held(mounts.source_root)
        assert (mounts.root / "e/name").samefile(mounts.root / "d/other-name")
        assert summary["totals"]["copied"]["entries"] == 8


def test_what_still_stands_is_unchanged(tmp_path: Path) -> None:
    mounts = filled(tmp_path)
    mounts.run(SPLIT)
    summary = mounts.next_run("run-2").run({"resume_from": "run-1"})
    assert summary["totals"]["unchanged"] == summary["totals"]["listed"]


def test_what_no_run_verified_is_verified_where_the_request_asks_for_it(tmp_path: Path) -> None:
    mounts = filled(tmp_path)
    assert mounts.run(SPLIT)["status"] == "SUCCEEDED"
    for path in ("big", "d/f"):
        before = (mounts.root / path).stat()
        (mounts.root / path).write_bytes(b"!" * before.st_size)
        os.utime(mounts.root / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    mounts = mounts.next_run("run-2")
    summary = mounts.run({"resume_from": "run-1", "verify": "copied"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["unchanged"] == summary["totals"]["listed"]
    assert summary["verification"]["by_class"] == [{"reason": "checksum differs", "entries": 2}]
    summary = mounts.next_run("run-3").run({"resume_from": "run-2", "verify": "copied"})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"]["entries"] == 2
    assert held(mounts.root) == held(mounts.source_root)
