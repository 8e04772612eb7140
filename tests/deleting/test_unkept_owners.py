"""A move to a place that keeps no owners leaves what has another owner than its copy: nothing else would tell it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix import attributes
from fanout.model.document import Json
from fanout.model.outcome import Reason
from tests.support.mounts import world_of
from tests.support.moves import MOVE, held, reasons

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.mark.parametrize(("change", "left"), [({}, {"d/theirs": b"x"}), ({"verify": "content"}, {})])
def test_what_would_lose_its_owner_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Json, left: dict[str, bytes]
) -> None:
    (tmp_path / "in/d").mkdir(parents=True)
    for name in ("d/theirs", "ours"):
        (tmp_path / "in" / name).write_bytes(b"x")
    os.chown(tmp_path / "in/d/theirs", 1000, 1000)
    monkeypatch.setattr(attributes, "_change_owner", lambda *_: False)
    world = world_of(tmp_path)
    summary = world.run({**MOVE, **change})
    assert summary["status"] == ("FAILED_WITH_ITEMS" if left else "SUCCEEDED")
    assert held(tmp_path / "in") == left
    assert reasons(world) == dict.fromkeys(left, Reason.OWNER_DIFFERS.value)
