"""A local user gives a private directory the name of one that keys of the source imply, and that a run opens."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Kind
from tests.support.local_user import AttackedWorld, given_away, read_by_user
from tests.support.memory import MemoryTree
from tests.support.nobody import open_directory

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")


@pytest.fixture
def mount() -> Iterator[Path]:
    with open_directory() as path:
        given_away(path / "out")
        (path / "out/secret").mkdir(mode=0o700)
        (path / "out/secret/file").write_text("salaries")
        yield path


class OneSource(AttackedWorld):
    """From objects, so that directories are implied."""


def run_of(mount: Path) -> OneSource:
    source, numbers = MemoryTree(itertools.count(1)), itertools.count()
    source.put("implied/object", Kind.FILE, b"for everybody")

    def destination() -> PosixTree:
        return PosixTree(mount, "out", "run-1", f"n{next(numbers)}")

    def swap() -> None:
        os.rename(mount / "out/implied", mount / "out/.moved")
        os.rename(mount / "out/secret", mount / "out/implied")

    world = OneSource(source=source, destination=destination(), deeds={"FinishTree": swap})
    world.trees = lambda _: (source, destination())  # type: ignore[assignment, return-value]
    return world


def test_a_private_directory_is_not_opened_under_the_name_of_an_implied_one(mount: Path) -> None:
    world = run_of(mount)
    world.run({"source": "s3://bank/in/", "destination": "efs:///out"})
    assert world.done == ["FinishTree"]
    assert stat.S_IMODE((mount / "out/implied").stat().st_mode) == 0o700
    assert "salaries" not in read_by_user(mount)


def test_where_the_sticky_bit_is_dropped_an_implied_directory_is_opened_all_the_same(
    mount: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir
    monkeypatch.setattr(os, "mkdir", lambda path, mode=0o777, **how: mkdir(path, mode & 0o777, **how))
    world = run_of(mount)
    world.deeds.clear()
    world.run({"source": "s3://bank/in/", "destination": "efs:///out"})
    assert stat.S_IMODE((mount / "out/implied").stat().st_mode) == 0o755
