"""Where a local stack keeps what it holds: not in a cache, which may be emptied."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout_cli.local.paths import LocalPaths
from tests.template.templates import REPO


def test_a_checkout_keeps_its_own_state() -> None:
    assert LocalPaths.find().state == REPO / ".fanout"


def test_an_installed_wheel_keeps_it_in_the_user_s_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    unpacked = tmp_path / "cache/fanout-transfer/0.1.0-abc"
    unpacked.mkdir(parents=True)
    (unpacked / "template.yaml").touch()
    assert LocalPaths.find(unpacked).state == tmp_path / "state/fanout-transfer"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LocalPaths.find(unpacked).state == tmp_path / ".local/state/fanout-transfer"
    assert LocalPaths.find(unpacked, tmp_path / "own").state == tmp_path / "own"
