"""A deletion whose directory another client replaced is tried once more, below the one that is there now."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from tests.support.mounts import writable


@pytest.mark.parametrize(("stale", "left"), [(1, set()), (2, {"d/file"})])
def test_it_is_tried_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stale: int, left: set[str]) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").write_bytes(b"x")
    tree = writable(PosixTree(tmp_path, "", "run", "attempt"))
    [_, entry] = tree.list(Segment(""))
    really, calls = os.unlink, 0

    def unlink(path: Any, *rest: Any, **more: Any) -> None:
        nonlocal calls
        if path == "file":
            calls += 1
            if calls <= stale:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        really(path, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        problems = tree.delete([entry])
    assert calls == 2
    assert set(problems) == left
    assert {one.reason for one in problems.values()} <= {Reason.TRANSIENT}
    assert (tmp_path / "d/file").exists() == bool(left)
    tree.close()
