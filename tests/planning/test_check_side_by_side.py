"""CheckMount asks S3 about a bucket while it looks at the mount: neither needs the other's answer."""

from __future__ import annotations

import threading

import pytest

from fanout.model.entry import Kind
from fanout.planning.check_mount import check_mount
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree


def test_the_bucket_is_asked_while_the_mount_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("file", Kind.FILE, b"x")
    world.plan(REQUEST)
    both = threading.Barrier(2)
    looked: list[str] = []

    def looks(name: str) -> None:
        both.wait(10)
        looked.append(name)

    monkeypatch.setattr(world.source, "check", lambda *, writing: looks("bucket"))
    monkeypatch.setattr(world.destination, "check", lambda *, writing: looks("mount"))
    assert check_mount(world.context("CheckMount")) == {}
    assert sorted(looked) == ["bucket", "mount"]
