"""Paths with a component that is no name: nothing is opened, made or listed under them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError, Transient
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from tests.support.mounts import writable

NO_PLACES = ["../out/", "a/../../out/", "./", "a//", "a/./", "a/../"]


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    (tmp_path / "in/a").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    for name in ("in/a/f", "out/f"):
        (tmp_path / name).write_text("f")
    return tmp_path


@pytest.mark.parametrize("path", [*NO_PLACES, "/", "..//", "a/\0/"])
@pytest.mark.parametrize("create", [True, False])
def test_no_component_leads_out_of_the_base(mount: Path, path: str, create: bool) -> None:
    inside = Directories(str(mount / "in"))
    with pytest.raises(ItemError) as caught:
        inside.hold(path, create=create)
    assert caught.value.reason in (Reason.NAME_DOT, Reason.NAME_EMPTY, Reason.NAME_NUL)
    inside.close()
    assert os.listdir(mount / "out") == ["f"]


def test_a_directory_without_its_slash_is_not_the_one_of_a_shorter_name(mount: Path) -> None:
    """A row of the ledger that says ``ab`` would have set the attributes of ``a``."""
    before = (mount / "in/a").stat().st_mode
    tree = writable(PosixTree(mount, "in", "run-1", "n"))
    with pytest.raises(ItemError, match="is no name"):
        tree.set_attributes(Entry("ab", Kind.DIRECTORY), Attributes(0o40777))
    assert (mount / "in/a").stat().st_mode == before


@pytest.mark.parametrize("prefix", NO_PLACES)
def test_a_destination_holds_nothing_below_keys_that_are_no_paths(mount: Path, prefix: str) -> None:
    assert list(PosixTree(mount, "in", "run-1", "n").list(Segment("", prefix=prefix))) == []


@pytest.mark.parametrize("prefix", ["../out/", "a/../", "./"])
def test_a_source_is_never_empty_below_such_a_prefix(mount: Path, prefix: str) -> None:
    with pytest.raises(Transient, match="is no name"):
        list(PosixTree(mount, "in", "run-1", "n", "source").list(Segment("", prefix=prefix)))
