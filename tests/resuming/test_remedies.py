"""A retry does not copy a file that somebody wrote since it could not be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.model.outcome import Reason
from tests.resuming.test_resume_on_a_mount import following
from tests.support.flow import World
from tests.support.mounts import REQUEST, fill, world_of
from tests.support.nobody import as_nobody, open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")


def run_as_nobody(mount: Path, request: Any = REQUEST) -> tuple[World, Any]:
    """A run whose functions are nobody's: its ledger, and its summary."""
    (mount / "out").mkdir()
    (mount / "out").chmod(0o777)
    world = world_of(mount)

    def ledger() -> Any:
        summary = world.run(request)
        objects = world.store._objects  # type: ignore[attr-defined]
        return {"summary": summary, "ledger": {key: data.hex() for key, data in objects.items()}}

    first = as_nobody(ledger)
    world.store._objects = {key: bytes.fromhex(text) for key, text in first["ledger"].items()}  # type: ignore[attr-defined]
    return world, first["summary"]


def reasons(world: World) -> set[str]:
    return {str(row["reason"]) for row in world.ledger.read_rows("failures.jsonl")}


@pytest.mark.parametrize("change", ["write", "replace", "touch"])
def test_a_file_that_was_written_since_it_could_not_be_read_still_fails(change: str) -> None:
    with open_directory() as mount:
        closed = fill(mount, "closed") / "closed"
        closed.chmod(0o600)
        world, _ = run_as_nobody(mount)
        closed.chmod(0o644)
        before = closed.stat()
        if change == "touch":
            os.utime(closed, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        elif change == "write":
            closed.write_bytes(closed.read_bytes() + b"more")
        else:
            closed.unlink()
            closed.mkdir()
        later = following(world, mount)
        assert later.run({"resume_from": "run-1"})["status"] == "FAILED_WITH_ITEMS"
        assert reasons(later) <= {Reason.SOURCE_CHANGED.value, Reason.SOURCE_VANISHED.value}
