"""A run that resumes one whose verification found differences copies what differed again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.outcome import Reason
from tests.remedies.lab import Lab
from tests.support.flow import World

REQUEST: Json = {"verify": "copied", "limits": {"split_bytes": tuning.BLOCK_BYTES}}


def rewritten(path: Path) -> None:
    """Other bytes with the size and the mtime that it had."""
    before = path.stat()
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def verified_after(lab: Lab, damage: Callable[[], object]) -> Callable[[World], Json]:
    def flow(world: World) -> Json:
        world.list_all(world.plan(lab.request | REQUEST))
        world.copy_all()
        world.finish_all()
        damage()
        return world.end("copied")

    return flow


@pytest.mark.parametrize("path", ["f", "d/name", "big"])
def test_on_a_mount(tmp_path: Path, path: str) -> None:
    lab = Lab(tmp_path)
    for name in ("f", "g"):
        lab.write(name)
    os.link(lab.write("d/name"), lab.root / "other-name")
    lab.write("big", "x" * (2 * tuning.BLOCK_BYTES + 1))
    lab.fails(Reason.CHECKSUM, during=verified_after(lab, lambda: rewritten(lab.out / path)))
    ran = lab.retry()
    assert lab.held() == lab.held("source")
    assert (lab.out / "d/name").samefile(lab.out / "other-name")
    assert ran.summary["totals"]["copied"]["entries"] == (2 if path == "d/name" else 1)
    assert lab.retry().summary["totals"]["copied"]["entries"] == 0


@pytest.mark.parametrize("size", [7, 2 * tuning.BLOCK_BYTES + 1])
def test_in_a_bucket(tmp_path: Path, size: int) -> None:
    lab = Lab(tmp_path, "mount", "bucket")
    lab.write("f", "x" * size)
    lab.write("g")
    lab.fails(Reason.CHECKSUM, during=verified_after(lab, lambda: lab.write("f", "y" * size, "destination")))
    lab.retry()
    assert lab.held() == lab.held("source")
